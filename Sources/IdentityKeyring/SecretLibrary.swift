// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import CLibSecret
import GLibSupport

/// What libsecret does for us: it stores items, over a session that it encrypts. It never shows a prompt; where it would,
/// the link's own runner of prompts is asked.
final class SecretLibrary: Sendable {
    /// A prompt that libsecret has come upon.
    struct Prompt: Sendable {
        let path: String
        /// `o` where it leads to a new item, `ao` where it leads to an unlocking.
        let result: String
        private let task: GLibPointer
        private let thread: GLibThread

        fileprivate init(path: String, result: String, task: GLibPointer, thread: GLibThread) {
            self.path = path
            self.result = result
            self.task = task
            self.thread = thread
        }

        /// Gives libsecret what the prompt led to, or `nil`. To be called once.
        func end(_ outcome: Variant?) {
            let task = task
            thread.perform { unsafe clibsecret_prompt_end(task.pointer, outcome?.pointer) }
        }
    }

    private let service: GLibPointer
    private let thread: GLibThread

    private init(_ service: GLibPointer, on thread: GLibThread) {
        self.service = service
        self.thread = thread
    }

    deinit {
        let service = service
        thread.perform { unsafe clibsecret_service_free(service.pointer) }
    }

    /// Loads libsecret on the thread.
    /// - Returns: Whether that was done, or a `LibraryProblem`, in a while.
    static func load(_ library: String, on thread: GLibThread) -> Reply<Void> {
        thread.begin { reply in
            var reason: UnsafePointer<CChar>?
            let readiness = unsafe clibsecret_load(library, &reason)
            let problem = unsafe LibraryProblem(readiness, library: library, reason: reason)
            reply.settle(problem.map { .failure($0) } ?? .success(()))
        }
    }

    /// Makes libsecret use our connection, so that it recovers with it and cannot end the program.
    static func open(
        _ bus: BusConnection,
        timeout: Duration,
        prompted: @escaping @Sendable (Prompt) -> Void
    ) async throws -> SecretLibrary {
        let (handle, thread) = (bus.handle, bus.thread)
        return try await thread.reply { reply in
            let (called, data) = unsafe completion { completed in
                reply.settle(
                    unsafe completed.flatMap { service in
                        guard let service = unsafe service else { return .failure(.noService) }
                        return unsafe .success(SecretLibrary(GLibPointer(service), on: thread))
                    }.mapError { $0 }
                )
            }
            let context = PromptContext(box: CallbackBox<Prompt>(prompted), thread: thread)
            unsafe clibsecret_service_new(
                handle.pointer,
                timeout.wholeMilliseconds,
                PromptContext.called,
                context.retained(),
                PromptContext.release,
                called,
                data
            )
        }
    }

    /// Agrees with the keyring on how secrets are encrypted, which the first ``store(_:label:attributes:in:)`` does otherwise.
    func openSession() async throws {
        let service = service
        try await thread.reply { (reply: Reply<Void>) in
            let (called, data) = unsafe completion { completed in
                reply.settle(unsafe completed.map { _ in }.mapError { $0 })
            }
            unsafe clibsecret_open_session(service.pointer, called, data)
        }
    }

    /// Stores an item in place of one with the same attributes.
    func store(
        _ secret: [UInt8],
        label: String,
        attributes: [(String, String)],
        in collection: String
    ) async throws {
        let service = service
        try await thread.reply { (reply: Reply<Void>) in
            let (called, data) = unsafe completion { completed in
                reply.settle(unsafe completed.map { _ in }.mapError { $0 })
            }
            unsafe withTexts(attributes) { texts in
                unsafe secret.withUnsafeBufferPointer { bytes in
                    unsafe clibsecret_store(
                        service.pointer,
                        collection,
                        label,
                        texts,
                        bytes.baseAddress,
                        bytes.count,
                        KeyringItem.contentType(of: secret),
                        called,
                        data
                    )
                }
            }
        }
    }
}

/// What libsecret's service keeps for its prompts.
private final class PromptContext: Sendable {
    let box: CallbackBox<SecretLibrary.Prompt>
    // Weak: the service would otherwise keep its own thread running.
    weak let thread: GLibThread?

    init(box: CallbackBox<SecretLibrary.Prompt>, thread: GLibThread) {
        self.box = box
        self.thread = thread
    }

    func retained() -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(self).toOpaque()
    }

    static let called: clibsecret_prompted = { data, path, result, task in
        guard let data = unsafe data, let task = unsafe task else { return }
        let context = unsafe Unmanaged<PromptContext>.fromOpaque(data).takeUnretainedValue()
        guard let thread = context.thread, let path = unsafe path, let result = unsafe result else {
            unsafe clibsecret_prompt_end(task, nil)
            return
        }
        unsafe context.box.body(
            SecretLibrary.Prompt(
                path: String(cString: path),
                result: String(cString: result),
                task: GLibPointer(task),
                thread: thread
            )
        )
    }

    static let release: cgio_work = { data in
        if let data = unsafe data { unsafe Unmanaged<PromptContext>.fromOpaque(data).release() }
    }
}

extension GLibFailure {
    fileprivate static let noService = GLibFailure(
        domain: "identity-client",
        code: 1,
        name: nil,
        message: "libsecret made no service."
    )
}

/// Lends names and values by turns as an array that NULL ends.
private func withTexts(
    _ attributes: [(String, String)],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Void
) {
    var storage: [CChar] = []
    var starts: [Int] = []
    for text in attributes.flatMap({ [$0.0, $0.1] }) {
        starts.append(storage.count)
        storage += text.utf8.map { CChar(bitPattern: $0) } + [0]
    }
    unsafe storage.withUnsafeBufferPointer { storage in
        var list = unsafe [UnsafePointer<CChar>?]()
        for start in starts { unsafe list.append(storage.baseAddress.map { unsafe $0 + start }) }
        unsafe list.append(nil)
        unsafe list.withUnsafeBufferPointer { list in
            if let base = list.baseAddress { unsafe body(base) }
        }
    }
}
