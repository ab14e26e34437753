// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Shows a page to the person. The default opens the system's browser.
///
/// ```swift
/// struct PrintingLauncher: BrowserLauncher {
///     func open(_ url: URL) async throws { print("Open \(url.absoluteString)") }
/// }
/// ```
public protocol BrowserLauncher: Sendable {
    /// Opens `url` and returns as soon as the browser has it, without waiting for the page.
    ///
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` if no browser can be started.
    func open(_ url: URL) async throws
}
