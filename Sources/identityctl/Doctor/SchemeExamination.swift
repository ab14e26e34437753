// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The doctor's look at the desktop entries by which the browser comes back from a sign-in.
enum SchemeExamination {
    /// Returns a finding for each entry that 'identityctl register-scheme' has written.
    static func findings(_ environment: Variables) throws -> [Finding] {
        guard let home = try? Home(environment) else { return [] }  // without a home directory there is none
        return try SchemeRegistration.all(in: SchemeRegistration.Directories(environment)).map { registration in
            let check = "scheme \(registration.scheme)"
            let program = try registration.program() ?? ""
            let isOwn = try program == SchemeRegistration.quoted(home.program)
            guard !isOwn, let obstacle = home.obstacle(toStarting: program) else {
                return .ok(check, program.printable)
            }
            let advice = "\(obstacle) Run: identityctl register-scheme \(registration.scheme)"
            return .lack(check, "the browser cannot hand over its redirect", advice, .other)
        }
    }
}
