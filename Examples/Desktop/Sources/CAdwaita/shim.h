// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// libadwaita, and what its C has that Swift cannot call: variadic functions, macros, callbacks whose type is a lie.

#pragma once

#include <adwaita.h>
#include <libintl.h>
#include <locale.h>

// Calls handler(data) whenever the signal is emitted; what the signal says besides is left unread. release(data) is
// called once, when nothing can call the handler any more.
static inline gulong kit_connect(
    gpointer instance, const char *signal, gpointer data, void (*handler)(gpointer data), void (*release)(gpointer data)
) {
    return g_signal_connect_data(
        instance, signal, G_CALLBACK(handler), data, (GClosureNotify)(void (*)(void))release, G_CONNECT_SWAPPED
    );
}

// The same for a signal whose handler answers whether it has dealt with it.
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

// What a screen reader says.
static inline void kit_set_accessible_label(GtkWidget *widget, const char *label) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static inline void kit_set_accessible_description(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

// Whether a screen reader passes it over; GTK 4.8 tells of widgets in a stack that are not its visible child.
static inline void kit_set_accessible_hidden(GtkWidget *widget, gboolean hidden) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_HIDDEN, hidden, -1);
}

static inline void kit_set_accessible_busy(GtkWidget *widget, gboolean busy) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_BUSY, busy, -1);
}

// Whether an action that is enabled or not is; GAction itself cannot be told.
static inline void kit_set_action_enabled(GActionMap *map, const char *name, gboolean enabled) {
    GAction *action = g_action_map_lookup_action(map, name);
    if (action != NULL) g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

// GObject's properties without a setter of their own.
static inline void kit_set_string(gpointer object, const char *property, const char *value) {
    g_object_set(object, property, value, NULL);
}

static inline const char *kit_type_name(gpointer instance) {
    return G_OBJECT_TYPE_NAME(instance);
}
