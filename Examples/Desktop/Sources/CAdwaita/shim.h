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

// The same, for good: kit_description returns it while the widget has another one for a moment.
static inline void kit_describe(GtkWidget *widget, const char *text) {
    g_object_set_data_full(G_OBJECT(widget), "kit-description", g_strdup(text), g_free);
    kit_set_accessible_description(widget, text);
}

static inline const char *kit_description(GtkWidget *widget) {
    return g_object_get_data(G_OBJECT(widget), "kit-description");
}

// The page of a stack is a panel, which is called by its class where it has no name. It needs none: its content has one.
static inline void kit_hush_stack_page(GtkStack *stack, GtkWidget *child) {
    GtkAccessible *page = GTK_ACCESSIBLE(gtk_stack_get_page(stack, child));
    gtk_accessible_update_property(page, GTK_ACCESSIBLE_PROPERTY_LABEL, "", -1);
}

// An icon in a widget that has a name of its own. A screen reader would call the icon by its class.
static inline GtkWidget *kit_icon_new(const char *name) {
    return g_object_new(GTK_TYPE_IMAGE, "icon-name", name, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
}

// Has a screen reader say a text. Returns FALSE where GTK cannot.
static inline gboolean kit_announce(GtkWidget *window, const char *text) {
#if GTK_CHECK_VERSION(4, 14, 0)
    gtk_accessible_announce(GTK_ACCESSIBLE(window), text, GTK_ACCESSIBLE_ANNOUNCEMENT_PRIORITY_MEDIUM);
    return TRUE;
#else
    return FALSE;
#endif
}

// The widget with the keyboard focus, as a screen reader knows it: an entry, and not the text inside it.
static inline GtkWidget *kit_focus(GtkWidget *window) {
    GtkWidget *focus = gtk_root_get_focus(GTK_ROOT(window));
    GtkWidget *parent = GTK_IS_TEXT(focus) ? gtk_widget_get_parent(focus) : NULL;
    return GTK_IS_EDITABLE(parent) ? parent : focus;
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
