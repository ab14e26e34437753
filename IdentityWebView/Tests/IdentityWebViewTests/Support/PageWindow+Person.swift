// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import FoundationEssentials
import Testing

@testable import IdentityWebView

// The person's view of a window, and their actions in it.
extension PageWindow {
    /// Waits until `isReached`, called on the main context, returns `true`. The test's own time limit ends the wait.
    func wait(_ what: String, until isReached: @escaping @Sendable (PageWindow) -> Bool) async throws {
        while try await MainContext.value(within: .seconds(30), { !isReached(self) }) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Waits until the page with this title is complete and visible.
    func waitForPage(_ title: String) async throws {
        try await wait(title) { window in
            guard let view = window.widgets?.view, window.state == .page else { return false }
            return webkit_web_view_is_loading(view) == 0
                && webkit_web_view_get_title(view).map { String(cString: $0) } == title
        }
    }

    func waitUntilGone() async throws {
        try await wait("the end of the window") { $0.widgets == nil }
    }

    func waitForProblem() async throws -> String {
        try await wait("a problem") { if case .problem = $0.state { true } else { false } }
        return try await MainContext.value(within: .seconds(30)) {
            if case .problem(let text) = self.state { text } else { "" }
        }
    }

    /// Types into the fields and presses a button.
    func fillIn(_ fields: [String: String], press button: String) async throws {
        let typing = fields.map { "document.getElementById('\($0.key)').value = '\($0.value)';" }.joined()
        try await run(typing + "document.getElementById('\(button)').click()")
    }

    /// Runs a script, as a script of the page itself would run.
    @discardableResult
    func run(_ script: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            let run = Run(continuation)
            MainContext.perform {
                guard let view = self.widgets?.view else { return run.continuation.resume(throwing: WindowIsGone()) }
                webkit_web_view_evaluate_javascript(
                    view,
                    script,
                    -1,
                    nil,
                    nil,
                    nil,
                    { view, result, data in
                        guard let view, let data else { return }
                        let run = Unmanaged<Run>.fromOpaque(data).takeRetainedValue()
                        let page = UnsafeMutableRawPointer(view).assumingMemoryBound(to: WebKitWebView.self)
                        // A script that goes to another page has no value.
                        guard let value = webkit_web_view_evaluate_javascript_finish(page, result, nil) else {
                            return run.continuation.resume(returning: "")
                        }
                        let text = jsc_value_to_string(value)
                        run.continuation.resume(returning: text.map { String(cString: $0) } ?? "")
                        g_free(text)
                        g_object_unref(UnsafeMutableRawPointer(value))
                    },
                    Unmanaged.passRetained(run).toOpaque()
                )
            }
        }
    }

    private final class Run: Sendable {
        let continuation: CheckedContinuation<String, any Error>

        init(_ continuation: CheckedContinuation<String, any Error>) {
            self.continuation = continuation
        }
    }

    struct WindowIsGone: Error {}
}
