// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Logging
import OAuthWire
import Synchronization
import SystemSupport

/// The environment of a command, and the application object that the command makes.
final class Session: Sendable {
    /// Whose token the command is about, as far as it is known by now.
    var route: TokenRoute { current.withLock(\.self) }
    private let current: Mutex<TokenRoute>
    /// The variables and the lines that apply.
    var environment: Variables { current.withLock(\.variables) }
    let console: Console
    /// Whether results and errors are written as JSON.
    let isJSON: Bool
    let passPhrases = PassPhrasePrompt()
    /// The capture of the exchange, if one is wanted.
    let recording: Recording?
    private let logLevel: Logger.Level
    private let desktop = Mutex<(cache: DesktopTokenCache, group: CacheGroup)?>(nil)
    private let application = Mutex<PublicClientApplication?>(nil)
    private let warnings = Mutex<Set<String>>([])
    private let courseWatcher = Mutex<(@Sendable (SignInCourse) -> Void)?>(nil)
    private let course = Mutex(SignInCourse())
    /// Whether a write has had its longer time.
    private let isPersistent = Mutex(false)

    init(_ route: TokenRoute, console: Console, isJSON: Bool, logLevel: Logger.Level, recording: Recording? = nil) {
        current = Mutex(route)
        self.console = console
        self.isJSON = isJSON
        self.logLevel = logLevel
        self.recording = recording
    }

    /// The logger that the library uses.
    var logger: Logger {
        let handler = ConsoleLogHandler(level: logLevel, console: console)
        return Logger(label: "identityctl") { _ in handler }
    }

    /// The lines on this computer.
    var lines: ProfileLines {
        let console = console
        return .onDisk(environment.above(nil)) { console.line($0) }
    }

    /// Looks anew whose token the command is about, since another process may have signed in.
    func follow(_ route: TokenRoute) { current.withLock { $0 = route } }

    /// Puts other lines below the variables from now on.
    func use(_ profile: Profile?) {
        current.withLock { $0.variables = $0.variables.above(profile) }
    }

    /// Lays the lines of a resource that was found over those of the profile, from now on.
    func adopt(_ found: Profile) {
        use(environment.profile?.below(found) ?? found)
    }

    /// Whether a warning was not given yet, which a command that acquires several tokens gives once.
    func isNew(warning: String) -> Bool {
        warnings.withLock { $0.insert(warning).inserted }
    }

    /// Calls `watcher` when a sign-in goes on.
    func watchCourse(_ watcher: @escaping @Sendable (SignInCourse) -> Void) { courseWatcher.withLock { $0 = watcher } }

    /// The course of the sign-in so far.
    var courseSoFar: SignInCourse { course.withLock(\.self) }

    /// Notes how the sign-in goes on.
    func noteCourse(hasPage: Bool = false, _ text: String = "") {
        let now = course.withLock { course in
            course.hasPage = course.hasPage || hasPage
            course.text = text
            return course
        }
        courseWatcher.withLock(\.self)?(now)
    }

    /// Holds the application object of the command.
    func hold(_ made: PublicClientApplication) {
        application.withLock { $0 = made }
        let cache = made.configuration.cache
        // A cast that fails costs a fifth of all instructions of a token from a file: it looks up a type of Foundation by name.
        guard type(of: cache) == DesktopTokenCache.self, let cache = cache as? DesktopTokenCache else { return }
        uses(cache, made.configuration.group)
    }

    /// The application object, once there is one.
    var made: PublicClientApplication? { application.withLock { $0 } }

    /// Remembers the store that the advice on errors is about.
    func uses(_ cache: DesktopTokenCache, _ group: CacheGroup) {
        desktop.withLock { $0 = (cache, group) }
    }

    /// Finishes refreshes that are under way and writes unwritten records, for five seconds at most. The
    /// answer to a refresh is tried for ten seconds more, once: the refresh token in the cache is spent.
    ///
    /// - Returns: Whether all is done.
    @discardableResult
    func finishPendingWork() async -> Bool {
        guard let application = application.withLock({ $0 }) else { return true }
        if await Self.finish(application, within: .seconds(5)) { return true }
        guard let failure = application.unwrittenRefresh else { return false }
        let isFirst = isPersistent.withLock { isPersistent in
            defer { isPersistent = true }
            return !isPersistent
        }
        guard isFirst else { return false }
        console.line(
            "The new tokens are not stored yet; this is tried for ten seconds more. \(failure.messageOfAWrite)"
        )
        return await Self.finish(application, within: .seconds(10))
    }

    private static func finish(_ application: PublicClientApplication, within time: Duration) async -> Bool {
        do {
            return try await application.finishPendingWork(within: time)
        } catch {
            return false
        }
    }

    /// The error of a program that ends although what a refresh has brought is not stored; `nil` if it is.
    var loss: AuthenticationError? {
        guard let failure = application.withLock({ $0 })?.unwrittenRefresh else { return nil }
        return AuthenticationError(
            failure.code,
            "The provider gave a new refresh token, which could not be stored, and may not accept the old one again. "
                + "\(failure.messageOfAWrite) If a later command ends with status 2, sign in again.",
            correlationID: failure.correlationID,
            underlyingError: failure
        )
    }

    /// Writes the capture, if one is wanted. That it cannot be written does not change the command's status.
    func endRecording(_ status: ExitStatus, _ error: (any Error)?) async {
        guard let recording else { return }
        do {
            try await recording.end(status, error)
            console.line(
                "The exchange is in \(recording.path.printable), without secrets and names. Read the file before you send it."
            )
        } catch {
            console.line("Warning: the record could not be written. \(PlainReport.sentence(error))")
        }
    }

    /// Returns advice on a store that cannot be used.
    func adviceOnStore(_ error: any Error, _ options: SharedOptions) async -> String? {
        guard let store = desktop.withLock({ $0 }), let error = error as? AuthenticationError, .cache ~= error.code
        else { return nil }
        do {
            let remembered = try await store.cache.rememberedStore(of: store.group)
            let isUsed = remembered.map(store.cache.accepts) ?? true
            // A wrong pass phrase has its own error, and a key need not be made.
            guard remembered != nil || error.code != .cacheKeyUnavailable || !passPhrases.hasProtectedKey
            else { return nil }
            return StoreAdvice.text(
                for: error,
                remembered: remembered,
                isUsed: isUsed,
                hasKeyFile: environment["HOME"].map { SystemCall.exists($0 + StoreAdvice.keyFile.dropFirst()) }
                    ?? false,
                hasScreen: environment.hasScreen,
                options
            )
        } catch {
            return nil  // What cannot be read now is what the first error was about.
        }
    }

    /// Returns the error of a command that only reads: if no store was chosen yet, no account is signed in, and the missing
    /// keyring is not the reason.
    func withoutStore(_ error: any Error) async -> any Error {
        // Where the keyring was named, it is what is missed.
        guard let store = desktop.withLock({ $0 }), store.cache.accepts(.file),
            let absence = error as? AuthenticationError,
            absence.isKeyringAbsence
        else { return error }
        do {
            guard try await store.cache.rememberedStore(of: store.group) == nil else { return error }
            return AuthenticationError(.noTokensFound, "No account is signed in here.", underlyingError: error)
        } catch {
            return absence  // What cannot be read now is what the first error was about.
        }
    }

    /// Returns the accounts that `read` finds; none where no store was chosen yet.
    func listing(_ read: () async throws -> [Account]) async throws -> [Account] {
        do {
            return try await read()
        } catch {
            let reason = await withoutStore(error)
            if case AuthenticationError.Code.noTokensFound = reason { return [] }
            throw reason
        }
    }

    /// Returns the place of a proxy's address that cannot be used; `nil` for one of other programs' variables, which the error names.
    func adviceOnProxy(_ error: any Error, _ option: String?) -> String? {
        guard case AuthenticationError.Code.proxyFailed = error, let given = try? environment.given("proxy", option)
        else { return nil }
        return "The proxy's address stands in \(given.origin)."
    }

    /// Returns advice on a provider that was named as a Microsoft provider and is not one.
    func adviceOnProvider(_ error: any Error) -> String? {
        guard let authority = application.withLock({ $0 })?.configuration.authority,
            ProviderOptions.isOther(error, authority)
        else { return nil }
        return ProviderOptions.isNotMicrosoft
    }

    /// Writes the one result of a command.
    func result(_ text: String) throws {
        console.clearProgress()
        try StandardStream.output.write(text)
    }

    /// Tells what a command without another result has done: the person, or with `--json` the reader of the result.
    ///
    /// - Parameter more: Further members of the result as JSON, which a person has read already.
    func done(_ text: String, _ more: JSONObject = JSONObject()) throws {
        guard isJSON else { return console.line(text) }
        var report = JSONObject([("done", .string(text))])
        for (name, value) in more.members { report[name] = value }
        try result(report.line + "\n")
    }

    /// Reports an error, with advice and the variables that are mistyped. With `--json`, the last line is the error as JSON.
    func report(_ error: any Error, advice: String? = nil) {
        if !isJSON { for line in PlainReport.error(error) { console.line(line) } }
        if let advice { console.line(advice) }
        if !(error is CancellationError) { tellOfMistypedVariables() }
        if isJSON { console.line(JSONReport.error(error).line) }
    }

    /// Tells the person once of each variable that is mistyped: what is missing may stand there.
    func tellOfMistypedVariables() {
        for wrong in MistypedVariable.all(in: environment) where isNew(warning: wrong.name) {
            console.line("\(wrong.name.printable) is none of this tool's variables. Did you mean \(wrong.meant)?")
        }
    }
}

extension Session {
    /// Writes a token, plainly or as JSON, and warns if it could not be stored.
    ///
    /// - Parameters:
    ///   - idToken: The ID token to write in place of the access token, or beside it in JSON.
    ///   - isPersistent: Whether the cache outlives the program.
    func write(_ result: AuthenticationResult, _ idToken: IDToken? = nil, isPersistent: Bool) async throws {
        let isStored = await isStored(result)
        noteClient(after: result)
        if isJSON {
            var report = JSONReport.result(result, persisted: isStored && isPersistent)
            if let idToken {
                report["idToken"] = .string(idToken.text)
                report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
            }
            try self.result(report.line + "\n")
        } else {
            try self.result((idToken?.text ?? result.accessToken) + "\n")
        }
    }

    /// Writes a token that an agent gave, plainly or with the agent's report as JSON.
    func write(_ token: HandedToken, _ report: JSONObject) throws {
        guard isJSON else { return try result(token.text + "\n") }
        var report = report
        report["accessToken"] = .string(token.result.accessToken)
        if let idToken = token.idToken { report["idToken"] = .string(idToken.text) }
        try result(report.line + "\n")
    }

    /// Returns whether the tokens are stored, and warns if they are not.
    func isStored(_ result: AuthenticationResult) async -> Bool {
        guard let failure = await storageFailure(of: result) else { return true }
        let reason = PlainReport.withReference(failure.ofAWrite)
        console.line("Warning: the tokens could not be kept for the next time. \(reason)")
        return false
    }

    /// Tries once more to store the tokens, and returns the error if they are still not stored.
    func storageFailure(of result: AuthenticationResult) async -> AuthenticationError? {
        guard case .failed(let failure) = result.persistence, await !finishPendingWork() else { return nil }
        return failure
    }
}

extension AuthenticationError {
    /// The message about tokens that were not stored. Of a keyring that cannot be read, it also says that the sign-in in it stays;
    /// that says nothing about new tokens.
    var messageOfAWrite: String {
        message.replacing("; there is no need to sign in again", with: "")
            .replacing(" There is no need to sign in again.", with: "")
    }

    /// The same error with the message about tokens that were not stored.
    var ofAWrite: AuthenticationError {
        AuthenticationError(code, messageOfAWrite, correlationID: correlationID, underlyingError: underlyingError)
    }
}
