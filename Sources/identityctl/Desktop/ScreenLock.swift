// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Logging

/// Follows the lock of this user's screen: the screen saver's on the session bus, and logind's on the system's bus.
///
/// - SeeAlso: [org.freedesktop.login1](https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.login1.html)
struct ScreenLock: Sendable {
    private static let savers = [
        (name: "org.gnome.ScreenSaver", path: "/org/gnome/ScreenSaver"),
        (name: "org.freedesktop.ScreenSaver", path: "/org/freedesktop/ScreenSaver"),
    ]
    private static let logind = "org.freedesktop.login1"
    private static let session = "org.freedesktop.login1.Session"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// The time for one call.
    private static let patience = Duration.seconds(2)

    let logger: Logger
    /// Called when the screen is locked or unlocked.
    let changed: @Sendable (_ isLocked: Bool) -> Void

    /// Follows until the task is cancelled. Without GLib, or without both buses, it ends at once.
    ///
    /// - Parameter ready: Settled when a lock from before the call was noticed.
    func follow(ready: Promise<Void>) async {
        guard let thread = try? await GLibThread.running(library: MessageBus.library) else {
            ready.finish(.success(()))  // there is no desktop without it
            return
        }
        let (saver, logind) = (Promise<Void>(), Promise<Void>())
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow(MessageBus.session, on: thread, saver, followSavers) }
            group.addTask { await follow(MessageBus.system, on: thread, logind, followSessions) }
            group.addTask {
                for part in [saver, logind] { try? await part.value() }  // cancelled: no longer of interest
                ready.finish(.success(()))
            }
        }
    }

    /// Follows on one bus, and again half a minute after the bus was lost.
    private func follow(
        _ address: () -> String?,
        on thread: GLibThread,
        _ ready: Promise<Void>,
        _ follow: (BusConnection, Promise<Void>) async -> Void
    ) async {
        defer { ready.finish(.success(())) }
        while !Task.isCancelled {
            guard let address = address(),
                let bus = try? await BusConnection.connect(to: address, on: thread).value()
            else { return }  // there is no such bus here
            await follow(bus, ready)
            if !Task.isCancelled { logger.warning("The bus is lost that tells of the screen's lock") }
            try? await Task.sleep(for: .seconds(30))
        }
    }

    private func followSavers(_ bus: BusConnection, _ ready: Promise<Void>) async {
        let (events, source) = AsyncStream.makeStream(of: Bool.self)
        for saver in Self.savers {
            bus.subscribe(to: saver.name, interface: saver.name, member: "ActiveChanged") { signal in
                if let isLocked = signal.parameters[0]?.bool { source.yield(isLocked) }
            }
        }
        bus.whenClosed { source.finish() }
        for saver in Self.savers {
            let answer = try? await bus.call(
                "GetActive",
                of: saver.name,
                at: saver.path,
                in: saver.name,
                returning: "(b)",
                timeout: Self.patience
            )
            // Most desktops have one of them.
            if answer?[0]?.bool == true { tell(true, by: saver.name) }
        }
        ready.finish(.success(()))
        for await isLocked in events { tell(isLocked, by: "the screen saver") }
        withExtendedLifetime(bus) {}
    }

    private func followSessions(_ bus: BusConnection, _ ready: Promise<Void>) async {
        let (events, source) = AsyncStream.makeStream(of: (path: String, isLocked: Bool).self)
        for (member, isLocked) in [("Lock", true), ("Unlock", false)] {
            bus.subscribe(to: Self.logind, interface: Self.session, member: member) { signal in
                source.yield((signal.path, isLocked))
            }
        }
        bus.subscribe(
            to: Self.logind,
            interface: Self.properties,
            member: "PropertiesChanged",
            firstArgument: Self.session
        ) { signal in
            for entry in signal.parameters[1]?.parts ?? [] where entry[0]?.text == "LockedHint" {
                if let isLocked = entry[1]?.content?.bool { source.yield((signal.path, isLocked)) }
            }
        }
        bus.whenClosed { source.finish() }
        let own = "/org/freedesktop/login1/session/auto"
        if await property("LockedHint", of: own, on: bus)?.bool == true { tell(true, by: "logind") }
        ready.finish(.success(()))
        // One after the other, so that the last one counts.
        for await (path, isLocked) in events {
            let owner = await property("User", of: path, on: bus)?[0]?.uint32
            // A session that has just ended has no owner. Locking is the safe mistake.
            guard owner == SystemCall.effectiveUser || owner == nil && isLocked else { continue }
            tell(isLocked, by: "logind")
        }
        withExtendedLifetime(bus) {}
    }

    private func property(_ name: String, of path: String, on bus: BusConnection) async -> Variant? {
        let answer = try? await bus.call(
            "Get",
            of: Self.properties,
            at: path,
            in: Self.logind,
            "('\(Self.session)', '\(name)')",
            returning: "(v)",
            timeout: Self.patience
        )
        return answer?[0]?.content  // an error: this logind does not know it
    }

    private func tell(_ isLocked: Bool, by source: String) {
        logger.info(isLocked ? "The screen is locked" : "The screen is unlocked", metadata: ["source": "\(source)"])
        changed(isLocked)
    }
}
