// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// libadwaita, and functions for the parts of it that Swift cannot call: variadic functions, macros, and callbacks whose
// declared type is not the one that is called.

#pragma once

#include <adwaita.h>
#include <libintl.h>
#include <locale.h>

// Calls handler(data) whenever the signal is emitted, without the signal's arguments. release(data) is called once, after
// the last call of the handler.
static inline gulong kit_connect(
    gpointer instance, const char *signal, gpointer data, void (*handler)(gpointer data), void (*release)(gpointer data)
) {
    return g_signal_connect_data(
        instance, signal, G_CALLBACK(handler), data, (GClosureNotify)(void (*)(void))release, G_CONNECT_SWAPPED
    );
}

// The same for a signal whose handler returns whether it has handled the signal.
static inline gulong kit_connect_answering(
    gpointer instance, const char *signal, gpointer data, gboolean (*handler)(gpointer data),
    void (*release)(gpointer data)
) {
    return g_signal_connect_data(
        instance, signal, G_CALLBACK(handler), data, (GClosureNotify)(void (*)(void))release, G_CONNECT_SWAPPED
    );
}

// Calls handler(data, address) for each address that the program is opened with.
typedef struct {
    gpointer data;
    void (*handler)(gpointer data, const char *address);
} KitOpening;

static inline void kit_opened(GApplication *application, GFile **files, gint count, const char *hint, KitOpening *to) {
    for (gint index = 0; index < count; index++) {
        char *address = g_file_get_uri(files[index]);
        to->handler(to->data, address);
        g_free(address);
    }
}

static inline void kit_connect_open(
    gpointer application, gpointer data, void (*handler)(gpointer data, const char *address)
) {
    KitOpening *opening = g_new(KitOpening, 1);
    *opening = (KitOpening){data, handler};
    g_signal_connect_data(
        application, "open", G_CALLBACK(kit_opened), opening, (GClosureNotify)(void (*)(void))g_free, 0
    );
}

// The name that a screen reader reads.
static inline void kit_set_accessible_label(GtkWidget *widget, const char *label) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static inline void kit_set_accessible_description(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

// Sets whether a screen reader ignores the widget. GTK 4.8 also reports the hidden children of a stack.
static inline void kit_set_accessible_hidden(GtkWidget *widget, gboolean hidden) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_HIDDEN, hidden, -1);
}

static inline void kit_set_accessible_busy(GtkWidget *widget, gboolean busy) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_BUSY, busy, -1);
}

// A bar for messages that a screen reader knows as an alert.
static inline GtkWidget *kit_alert_bar_new(void) {
    return g_object_new(GTK_TYPE_INFO_BAR, "accessible-role", GTK_ACCESSIBLE_ROLE_ALERT, NULL);
}

// Whether people type into the widget.
static inline gboolean kit_is_editable(GtkWidget *widget) {
    return GTK_IS_EDITABLE(widget) && gtk_editable_get_editable(GTK_EDITABLE(widget));
}

// Enables or disables an action, which GAction's own interface cannot.
static inline void kit_set_action_enabled(GActionMap *map, const char *name, gboolean enabled) {
    GAction *action = g_action_map_lookup_action(map, name);
    if (action != NULL) g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

// Sets a property of a GObject that has no setter function.
static inline void kit_set_string(gpointer object, const char *property, const char *value) {
    g_object_set(object, property, value, NULL);
}

static inline const char *kit_type_name(gpointer instance) {
    return G_OBJECT_TYPE_NAME(instance);
}
