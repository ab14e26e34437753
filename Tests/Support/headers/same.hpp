// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Compares what a C shim declares with a library's own header at compile time: Scripts/check-headers.
#pragma once

#include <cstddef>
#include <type_traits>

template <typename Ours, typename Theirs> struct same_call;

// Whether a caller passes both types in the same way: integers of the same size and sign, pointers to data of any kind, or
// pointers to functions that are called in the same way.
template <typename Type, bool = std::is_enum<Type>::value> struct number { using type = Type; };
template <typename Type> struct number<Type, true> { using type = typename std::underlying_type<Type>::type; };

template <typename Ours, typename Theirs> constexpr bool is_same() {
    using First = typename number<Ours>::type;
    using Second = typename number<Theirs>::type;
    // C treats an enumeration as int or unsigned; the shims use int.
    constexpr bool is_sign_free = std::is_enum<Ours>::value || std::is_enum<Theirs>::value;
    if (std::is_pointer<First>::value || std::is_pointer<Second>::value) {
        using A = std::remove_pointer_t<First>;
        using B = std::remove_pointer_t<Second>;
        if constexpr (std::is_function<A>::value && std::is_function<B>::value) return same_call<A, B>::value;
        return std::is_pointer<First>::value && std::is_pointer<Second>::value &&
               std::is_function<A>::value == std::is_function<B>::value;
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

#define CHECK_LAYOUT(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs " has another size");
#define CHECK_FIELD(ours, field, theirs, name) \
    static_assert(offsetof(ours, field) == offsetof(theirs, name) && \
                      sizeof(decltype(ours::field)) == sizeof(decltype(theirs::name)), \
                  #theirs " has " #name " elsewhere");
#define CHECK_NUMBER(ours, theirs) static_assert(int(ours) == int(theirs), #theirs " has another value");
