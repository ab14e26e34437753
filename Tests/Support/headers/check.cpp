// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Compares what the C shims have written down of GLib, GIO and libsecret with the libraries' own headers. It is compiled, and
// never run: Scripts/check-headers.
#define SECRET_API_SUBJECT_TO_CHANGE
#define SECRET_WITH_UNSTABLE
#include <cstddef>
#include <type_traits>

#include <libsecret/secret.h>

#include "cgio_library.h"
#include "clibsecret_library.h"

// Whether a caller passes both in the same way: pointers of any kind, or whole numbers of one size and sign.
template <typename Type, bool = std::is_enum<Type>::value> struct number { using type = Type; };
template <typename Type> struct number<Type, true> { using type = typename std::underlying_type<Type>::type; };

template <typename Ours, typename Theirs> constexpr bool is_same() {
    using First = typename number<Ours>::type;
    using Second = typename number<Theirs>::type;
    // C has an enumeration as int or unsigned; we write int.
    constexpr bool is_sign_free = std::is_enum<Ours>::value || std::is_enum<Theirs>::value;
    if (std::is_pointer<First>::value || std::is_pointer<Second>::value) {
        return std::is_pointer<First>::value && std::is_pointer<Second>::value;
    }
    return std::is_void<First>::value == std::is_void<Second>::value &&
           (std::is_void<First>::value ||
            (std::is_integral<First>::value && std::is_integral<Second>::value &&
             sizeof(std::conditional_t<std::is_void<First>::value, int, First>) ==
                 sizeof(std::conditional_t<std::is_void<Second>::value, int, Second>) &&
             (is_sign_free || std::is_signed<First>::value == std::is_signed<Second>::value)));
}

template <typename Ours, typename Theirs> struct same_call : std::false_type {};
template <typename A, typename... Ours, typename B, typename... Theirs>
    requires(sizeof...(Ours) == sizeof...(Theirs))
struct same_call<A(Ours...), B(Theirs...)> : std::bool_constant<is_same<A, B>() && (is_same<Ours, Theirs>() && ...)> {};
template <typename A, typename... Ours, typename B, typename... Theirs>
    requires(sizeof...(Ours) == sizeof...(Theirs))
struct same_call<A(Ours..., ...), B(Theirs..., ...)> : same_call<A(Ours...), B(Theirs...)> {};

#define CHECK(field, symbol, result, parameters) \
    static_assert(same_call<result parameters, std::remove_pointer_t<decltype(&symbol)>>::value, \
                  #symbol " is declared in another way");
CGIO_FUNCTIONS(CHECK)
CLIBSECRET_FUNCTIONS(CHECK)

#define CHECK_LAYOUT(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs " has another size");
#define CHECK_FIELD(ours, field, theirs, name) \
    static_assert(offsetof(ours, field) == offsetof(theirs, name) && \
                      sizeof(decltype(ours::field)) == sizeof(decltype(theirs::name)), \
                  #theirs " has " #name " elsewhere");
CHECK_LAYOUT(glib_error, GError)
CHECK_FIELD(glib_error, domain, GError, domain)
CHECK_FIELD(glib_error, code, GError, code)
CHECK_FIELD(glib_error, message, GError, message)
CHECK_LAYOUT(glib_type_query, GTypeQuery)
CHECK_FIELD(glib_type_query, type, GTypeQuery, type)
CHECK_FIELD(glib_type_query, name, GTypeQuery, type_name)
CHECK_FIELD(glib_type_query, class_size, GTypeQuery, class_size)
CHECK_FIELD(glib_type_query, instance_size, GTypeQuery, instance_size)
CHECK_LAYOUT(glib_type, GType)
// The start of GObjectClass, up to the one function that is replaced.
CHECK_FIELD(glib_object_class, type, GObjectClass, g_type_class)
CHECK_FIELD(glib_object_class, construct_properties, GObjectClass, construct_properties)
CHECK_FIELD(glib_object_class, constructor, GObjectClass, constructor)
static_assert(same_call<std::remove_pointer_t<decltype(glib_object_class::constructor)>,
                        std::remove_pointer_t<decltype(GObjectClass::constructor)>>::value,
              "a constructor is called in another way");

#define CHECK_NUMBER(ours, theirs) static_assert(int(ours) == int(theirs), #theirs " has another value");
CHECK_NUMBER(GLIB_PRIORITY_DEFAULT, G_PRIORITY_DEFAULT)
CHECK_NUMBER(GLIB_SIGNAL_MATCH_FUNC, G_SIGNAL_MATCH_FUNC)
CHECK_NUMBER(GIO_CONNECTION_CLIENT, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT)
CHECK_NUMBER(GIO_CONNECTION_MESSAGE_BUS, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION)
CHECK_NUMBER(GIO_CALL_NO_AUTO_START, G_DBUS_CALL_FLAGS_NO_AUTO_START)
CHECK_NUMBER(GIO_PROXY_NO_PROPERTIES, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES)
CHECK_NUMBER(GIO_PROXY_NO_SIGNALS, G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS)
CHECK_NUMBER(GIO_PROXY_NO_AUTO_START, G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START)
