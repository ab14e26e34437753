// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
// The names are those of the document.
// swift-format-ignore-file

// Outside: `func schedule(_ work: @escaping @Sendable () -> Void) {`: the executor of the next block calls it.
// Outside: `func onMainContext(_ work: @escaping @Sendable @MainContext () -> Void) {`: tasks call it.
// Outside: `@globalActor`: a global actor stands at the top of a file.
struct Spinner: Sendable {
    var isSpinning = false
}
nonisolated(unsafe) var spinner = Spinner()
nonisolated(unsafe) var task: Task<AuthenticationResult, any Error>?
let way = "direct://"
func offerToCopy(_ address: String) {}
func bringToFront() {}

extension MainContext {
    static func assumeIsolated(_ work: @MainContext () -> Void) {}
}

// GLib's, as its header declares them.
let G_PRIORITY_DEFAULT: CInt = 0
let G_SOURCE_REMOVE: CInt = 0
func g_idle_add_full(
    _ priority: CInt,
    _ function: @convention(c) (UnsafeMutableRawPointer?) -> CInt,
    _ data: UnsafeMutableRawPointer?,
    _ notify: @convention(c) (UnsafeMutableRawPointer?) -> Void
) {}
func g_main_context_default() -> OpaquePointer? { nil }
func g_main_context_is_owner(_ context: OpaquePointer?) -> CInt { 1 }
