// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import FoundationEssentials
import HTTPTypes
import SystemSupport

/// The driver's thread, which makes all calls of libcurl except the wake.
@safe struct CurlLoop {
    @safe struct Transfer {
        let pointer: OpaquePointer
        let host: String
        let place: String
        let caller: CurlDriver.Caller
        let end: SuspendingClock.Instant?
        /// The bytes that had come when its time was found to be over, and how often nothing more came since.
        var received = 0
        var quietRounds = 0
    }

    let driver: CurlDriver
    private let handle: OpaquePointer
    private let certificateFile: String?
    private let certificateDirectory: String?
    private(set) var transfers: [UInt64: Transfer] = [:]
    /// Abandoned transfers that cannot be removed without waiting for a resolver.
    private var abandonedTransfers: [UInt64: Transfer] = [:]

    init(_ driver: CurlDriver) {
        self.driver = driver
        unsafe handle = driver.handle.pointer
        certificateFile = SystemCall.environment("SSL_CERT_FILE")
        certificateDirectory = SystemCall.environment("SSL_CERT_DIR")
    }

    mutating func run() {
        let names = driver.settings.libraryNames
        let readiness = unsafe ccurl_driver_open(handle, names.0, names.1, driver.settings.newestLibraryVersion)
        guard readiness == CCURL_READY else {
            let reason = unsafe String(cString: ccurl_driver_reason(handle))
            end(because: CurlFailure.unavailable(readiness, reason: reason))
            return
        }
        while step() {}
        end(because: AuthenticationError(.network, "libcurl gave up; the request was not finished."))
    }

    /// One round: new work, progress, answers, sleep. `false` if there is no more work.
    private mutating func step() -> Bool {
        let commands = driver.drain()
        for job in commands.jobs { start(job) }
        for ticket in commands.abandoned { abandon(ticket) }

        moveStreams()
        let begin = SuspendingClock.now
        guard unsafe ccurl_driver_perform(handle) == 0 else { return false }
        finishTransfers()
        endTransfers(whoseTimeWasOverAt: begin)
        moveStreams()

        // A driver with abandonedTransfers is retired, so that waiting for them here blocks no request.
        guard transfers.isEmpty else {
            let next = transfers.values.compactMap(\.end).min().map { ($0 - .now).curlMilliseconds }
            return unsafe ccurl_driver_wait(handle, Int32(min(next ?? 1000, 1000))) == 0
        }
        guard !commands.isRetired else { return false }
        return sleep()
    }

    /// Waits for work; retires the driver if none comes.
    private func sleep() -> Bool {
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: driver.settings.idleTime)
        // A wake and libcurl's own timers end the wait early; the next round looks for work.
        guard unsafe ccurl_driver_wait(handle, Int32(driver.settings.idleTime.curlMilliseconds)) == 0 else {
            return false
        }
        if clock.now >= deadline { driver.retireIfIdle() }
        return true
    }

    /// Resumes all waiting callers, whatever happened.
    private mutating func end(because error: AuthenticationError) {
        driver.retire()
        for job in driver.drain().jobs { job.caller.fail(error) }
        for transfer in transfers.values { transfer.caller.fail(error) }
        for transfer in transfers.values { unsafe ccurl_transfer_free(transfer.pointer) }
        for transfer in abandonedTransfers.values { unsafe ccurl_transfer_free(transfer.pointer) }
        unsafe ccurl_driver_close(handle)
    }
}

extension CurlLoop {
    private mutating func start(_ job: CurlDriver.Job) {
        let request = job.request
        let settings = driver.settings
        guard let pointer = unsafe ccurl_transfer_new(handle, job.ticket) else {
            job.caller.fail(CurlDriver.exhausted())
            return
        }
        unsafe ccurl_transfer_set_target(pointer, request.method, request.target.url)
        if request.target.isLoopback {
            unsafe ccurl_transfer_set_loopback(pointer)
        } else if let proxy = settings.proxy {
            unsafe ccurl_transfer_set_proxy(pointer, proxy.text)
        } else if SystemCall.hasRaisedRights {
            unsafe ccurl_transfer_set_proxy(pointer, "")
        } else if let proxy = CurlSettings.trimmedProxy() {
            unsafe ccurl_transfer_set_proxy(pointer, proxy)
        }
        for line in request.fieldLines { unsafe ccurl_transfer_add_field(pointer, line) }
        if request.decompresses { unsafe ccurl_transfer_set_decompressing(pointer) }
        if let body = request.body {
            unsafe body.withUnsafeBytes { bytes in
                unsafe ccurl_transfer_set_body(pointer, bytes.baseAddress, bytes.count)
            }
        }
        if case .stream = job.caller {
            unsafe ccurl_transfer_set_times(pointer, 0, settings.connectTimeoutMilliseconds)
            unsafe ccurl_transfer_set_limits(pointer, settings.maximumHeadBytes, 0)
            unsafe ccurl_transfer_set_stream(pointer, CurlStream.window, settings.stallSeconds)
            if let length = request.streamedLength { unsafe ccurl_transfer_set_streamed_body(pointer, length) }
        } else {
            // libcurl looks at its clock before it looks at the socket, and would throw an answer away.
            unsafe ccurl_transfer_set_times(pointer, 0, settings.connectTimeoutMilliseconds)
            unsafe ccurl_transfer_set_limits(pointer, settings.maximumHeadBytes, settings.maximumResponseBytes)
        }
        if let file = settings.certificateAuthorities {
            unsafe ccurl_transfer_set_only_authorities(pointer, file)
        } else {
            unsafe ccurl_transfer_set_authorities(pointer, certificateFile, certificateDirectory)
        }

        guard unsafe Int(ccurl_transfer_start(pointer)) == CCURL_OK else {
            let error = CurlFailure.refusedOption(
                unsafe ccurl_transfer_refused_option(pointer),
                version: unsafe ccurl_driver_version(handle)
            )
            unsafe ccurl_transfer_free(pointer)
            job.caller.fail(error)
            return
        }
        transfers[job.ticket] = unsafe Transfer(
            pointer: pointer,
            host: request.target.host,
            place: request.target.place,
            caller: job.caller,
            end: request.end
        )
    }

    /// Ends the transfers whose time was over before libcurl read their sockets, and for which nothing more comes.
    private mutating func endTransfers(whoseTimeWasOverAt begin: SuspendingClock.Instant) {
        for (ticket, var transfer) in transfers {
            guard let end = transfer.end, end <= begin else { continue }
            // A long answer is read in several rounds.
            let received = received(of: transfer)
            if received == transfer.received { transfer.quietRounds += 1 }
            transfer.received = received
            transfers[ticket] = transfer
            guard transfer.quietRounds >= 4 else { continue }
            let failure = CurlFailure(
                code: CCURL_TIMED_OUT,
                reason: "the request's time was over",
                wasSent: unsafe ccurl_transfer_was_sent(transfer.pointer)
            )
            drop(ticket, because: failure.error(host: transfer.host, place: transfer.place, settings: driver.settings))
        }
    }

    private func received(of transfer: Transfer) -> Int {
        var (head, body) = (0, 0)
        _ = unsafe ccurl_transfer_head(transfer.pointer, &head)
        _ = unsafe ccurl_transfer_body(transfer.pointer, &body)
        return head + body
    }

    /// Removes a transfer that cannot go on.
    mutating func drop(_ ticket: UInt64, because error: AuthenticationError) {
        transfers[ticket]?.caller.fail(error)
        abandon(ticket)
    }

    /// Removes a transfer whose caller is gone. Without the quick exit of 7.87, this may block as long as the resolver:
    /// then the transfer is put aside, and later requests get a new driver.
    private mutating func abandon(_ ticket: UInt64) {
        guard let transfer = transfers.removeValue(forKey: ticket) else { return }
        if unsafe ccurl_driver_abandons_resolver(handle) {
            unsafe ccurl_transfer_free(transfer.pointer)
        } else {
            abandonedTransfers[ticket] = transfer
            driver.retire()
        }
    }

    private mutating func finishTransfers() {
        var code: Int32 = 0
        while let pointer = unsafe ccurl_driver_next_finished(handle, &code) {
            let ticket = unsafe ccurl_transfer_tag(pointer)
            abandonedTransfers.removeValue(forKey: ticket)
            if let transfer = transfers.removeValue(forKey: ticket) {
                switch transfer.caller {
                case .answer(let pending): pending.finish(Result { try answer(of: transfer, code: Int(code)) })
                case .stream(let stream): finish(stream, of: transfer, code: Int(code))
                }
            }
            unsafe ccurl_transfer_free(pointer)
        }
    }
}

/// The outcome of a transfer.
extension CurlLoop {
    func answer(of transfer: Transfer, code: Int) throws -> CurlDriver.Answer {
        do {
            try checkEnd(of: transfer, code: code)
        } catch let error as AuthenticationError {
            let pointer = unsafe transfer.pointer
            guard unsafe ccurl_transfer_was_too_large(pointer) && ccurl_transfer_has_answer(pointer) else {
                throw error
            }
            let answer = OversizedAnswer(response: try head(of: transfer), beginning: body(of: transfer))
            throw AuthenticationError(error.code, error.message, underlyingError: answer)
        }
        return CurlDriver.Answer(response: try head(of: transfer), body: body(of: transfer))
    }

    /// Throws if the transfer failed.
    func checkEnd(of transfer: Transfer, code: Int) throws {
        let pointer = unsafe transfer.pointer
        guard code == CCURL_OK else {
            throw CurlFailure(
                code: code,
                reason: unsafe String(cString: ccurl_transfer_reason(pointer, Int32(code))),
                tunnelStatus: unsafe ccurl_transfer_tunnel_status(pointer),
                isTooLarge: unsafe ccurl_transfer_was_too_large(pointer),
                wasSent: unsafe ccurl_transfer_was_sent(pointer)
            ).error(host: transfer.host, place: transfer.place, settings: driver.settings)
        }
        guard unsafe ccurl_transfer_has_answer(pointer) else {
            let failure = CurlFailure(code: CCURL_PARTIAL, reason: "the connection ended inside the head")
            throw failure.error(host: transfer.host, place: transfer.place, settings: driver.settings)
        }
    }

    func head(of transfer: Transfer) throws -> HTTPResponse {
        var count = 0
        let bytes = unsafe Array(
            UnsafeBufferPointer(start: ccurl_transfer_head(transfer.pointer, &count), count: count)
        )
        guard let response = ResponseHead.parse(bytes) else { throw CurlFailure.notHTTP(host: transfer.host) }
        return response
    }

    /// The received bytes of the body.
    func body(of transfer: Transfer) -> [UInt8] {
        var count = 0
        return unsafe Array(UnsafeBufferPointer(start: ccurl_transfer_body(transfer.pointer, &count), count: count))
    }
}

/// Moves bytes between streams and libcurl, between two calls of libcurl.
extension CurlLoop {
    mutating func moveStreams() {
        for (ticket, transfer) in transfers {
            guard case .stream(let stream) = transfer.caller else { continue }
            do {
                try move(stream, of: transfer)
            } catch {
                drop(ticket, because: error as? AuthenticationError ?? CurlDriver.exhausted())
            }
        }
    }

    private func move(_ stream: CurlStream, of transfer: Transfer) throws {
        let pointer = unsafe transfer.pointer
        if unsafe ccurl_transfer_has_answer(pointer), stream.awaitsHead {
            stream.deliver(try head(of: transfer))
        }
        deliverBody(to: stream, of: transfer)
        if unsafe ccurl_transfer_wants_body(pointer), let piece = stream.takeOutgoing() {
            let isTaken = unsafe piece.withUnsafeBytes {
                unsafe ccurl_transfer_give_body(pointer, $0.baseAddress, $0.count)
            }
            guard isTaken else { throw CurlDriver.exhausted() }
        }
        guard unsafe ccurl_transfer_resume(pointer) else {
            throw AuthenticationError(.network, "The transfer with \(transfer.host) could not be moved on. Try again.")
        }
    }

    private func deliverBody(to stream: CurlStream, of transfer: Transfer) {
        guard stream.hasRoom else { return }
        let bytes = body(of: transfer)
        guard !bytes.isEmpty else { return }
        unsafe ccurl_transfer_clear_body(transfer.pointer)
        stream.deliver(bytes)
    }

    /// Passes on the remaining bytes, and the outcome.
    func finish(_ stream: CurlStream, of transfer: Transfer, code: Int) {
        do {
            try checkEnd(of: transfer, code: code)
            if stream.awaitsHead { stream.deliver(try head(of: transfer)) }
            stream.deliver(body(of: transfer))
            stream.end(.success(()))
        } catch {
            stream.end(.failure(error))
        }
    }
}
