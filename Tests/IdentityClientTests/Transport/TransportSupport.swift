// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityTestSupport

@testable import IdentityClient

extension HTTPTransport {
    /// The error of a failed request; `nil` if an answer arrived.
    func failure(_ request: HTTPRequest, body: [UInt8]? = nil) async throws -> AuthenticationError? {
        do {
            _ = try await send(request, body: body)
            return nil
        } catch let error as AuthenticationError {
            return error
        }
    }
}

func openDescriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
}

func threads() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? -1
}

/// Reads piece by piece, because `String(contentsOfFile:)` returns only the first page of such a file.
func loadedLibraries() -> [Substring] {
    let bytes = try? FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd()
    return String(decoding: bytes ?? Data(), as: UTF8.self).split(separator: "\n")
}

extension CurlTransport {
    private static var usual: CurlSettings {
        CurlSettings(timeoutMilliseconds: 10_000, connectTimeoutMilliseconds: 5000, maximumResponseBytes: 1_048_576)
    }

    static func withLibraries(
        _ first: String,
        _ second: String,
        certificateAuthorities: String? = nil
    ) -> CurlTransport {
        var settings = usual
        settings.certificateAuthorities = certificateAuthorities
        settings.libraryNames = (first, second)
        return CurlTransport(settings)
    }

    static func takenForAnOlderLibrary() -> CurlTransport {
        var settings = usual
        settings.newestLibraryVersion = 0x07_42_00
        return CurlTransport(settings)
    }

    /// A transport on a computer that has slept for `time`.
    static func onAComputer(asleepFor time: Shared<Duration>) -> CurlTransport {
        var settings = usual
        settings.timeAsleep = { time.value }
        return CurlTransport(settings)
    }

    /// A transport that gives no further request to a driver that is held up.
    static func withoutPatience(certificateAuthorities: String) -> CurlTransport {
        var settings = usual
        settings.certificateAuthorities = certificateAuthorities
        settings.heldUpTimeout = .zero
        return CurlTransport(settings)
    }

    static func givingUp(after idleTime: Duration) -> CurlTransport {
        var settings = usual
        settings.idleTime = idleTime
        return CurlTransport(settings)
    }
}

/// The descriptors of IPv4 sockets that a program started now would inherit.
func inheritableSockets() -> [Int32] {
    (3..<1024).filter { descriptor in
        var domain: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let flags = fcntl(descriptor, F_GETFD)
        guard flags >= 0, flags & FD_CLOEXEC == 0 else { return false }
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_INET
    }
}
