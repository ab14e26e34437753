// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension HelperCommand {
    /// Answers cargo's requests, until cargo ends them.
    func answerCargo(_ session: Session) async throws {
        guard arguments.dropFirst() == ["--cargo-plugin"] else {
            throw UsageError(
                "Cargo calls this program with --cargo-plugin alone. Options stand in cargo's configuration."
            )
        }
        try session.result(CargoCredential.hello)
        var lines = HelperInput.Lines()
        while let line = try lines.next() {
            try session.result(try await cargoAnswer(line, session))
        }
    }

    private func cargoAnswer(_ line: [UInt8], _ session: Session) async throws -> String {
        do {
            let asked = try CargoCredential(parsing: line)
            guard asked.wantsToken else { return CargoCredential.notServed }
            let call = try HelperCall(.cargo, asked.arguments.filter { $0 != "--bare" })
            guard let source = try call.source(for: asked.address, in: session),
                let token = try await source.token(in: session)
            else { return CargoCredential.notServed }
            return CargoCredential.answer(
                header: asked.arguments.contains("--bare") ? token.text : "Bearer \(token.text)",
                expiresOn: Int(token.expiresOn.timeIntervalSince1970)
            )
        } catch {
            try Task.checkCancellation()
            let (cause, advice) = await explanation(of: error, in: session)
            return CargoCredential.answer(
                failure: (PlainReport.error(cause) + [advice].compactMap(\.self)).joined(separator: "\n")
            )
        }
    }

    func answerBazel(_ call: HelperCall, _ session: Session) async throws {
        guard call.operation == "get" else { throw UsageError("A credential helper knows only 'get'.") }
        let address = try BazelCredential.address(parsing: try HelperInput.request(endsAtEmptyLine: false))
        guard let source = try call.source(for: address, in: session), let token = try await source.token(in: session)
        else {
            throw UsageError("Nothing serves this address. A 'serves' line of a profile, or --serves, names it.")
        }
        try session.result(BazelCredential.answer(token: token.text, expiresOn: token.expiresOn))
    }

    func answerPnpm(_ call: HelperCall, _ session: Session) async throws {
        let token = try await call.source(in: session).anyToken(in: session)
        try session.result("Bearer \(token.text)\n")
    }

    /// A mistake in the role is told before the provider is asked.
    func answerAWS(_ call: HelperCall, _ session: Session) async throws {
        let source = try call.source(in: session)
        let role = try AWSRole(call.own, source.environment)
        let token = try await source.anyToken(in: session, wantsIDToken: true)
        try session.result(try await role.credentials(for: token.text, within: call.timeout).answer)
    }
}
