// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Logging
import SystemSupport

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

    /// How long it waits before it looks for a bus again: at first, and at most.
    private static let pause = (first: Duration.seconds(1), longest: Duration.seconds(300))

    let logger: Logger
    /// Called when the screen is locked or unlocked, and when nothing tells any more whether it is: that counts as locked.
    let changed: @Sendable (_ isLocked: Bool) -> Void

    /// Follows until the task is cancelled. Without GLib it ends at once.
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

    /// Follows on one bus, and looks for it again when it is lost. The pauses grow while there is none.
    ///
    /// - Parameter follow: Follows until the bus is lost, and returns whether it knew a screen.
    private func follow(
        _ address: () -> String?,
        on thread: GLibThread,
        _ ready: Promise<Void>,
        _ follow: (BusConnection, Promise<Void>, _ isBack: Bool) async -> Bool
    ) async {
        defer { ready.finish(.success(())) }
        var (pause, isLost) = (Self.pause.first, false)
        while !Task.isCancelled {
            if let address = address(), let bus = try? await BusConnection.connect(to: address, on: thread).value() {
                pause = Self.pause.first
                isLost = await follow(bus, ready, isLost) || isLost
                guard !Task.isCancelled else { return }
                logger.warning("The bus is lost that tells of the screen's lock")
                // The screen may be locked or unlocked meanwhile, and locking is the safe mistake.
                if isLost { tell(true, by: "a lost bus") }
            }
            ready.finish(.success(()))
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.pause.longest)
        }
    }

    private func followSavers(_ bus: BusConnection, _ ready: Promise<Void>, isBack: Bool) async -> Bool {
        let (events, source) = AsyncStream.makeStream(of: Bool.self)
        for saver in Self.savers {
            bus.subscribe(to: saver.name, interface: saver.name, member: "ActiveChanged") { signal in
                if let isLocked = signal.parameters[0]?.bool { source.yield(isLocked) }
            }
        }
        bus.whenClosed { source.finish() }
        var states: [Bool] = []
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
            if let isLocked = answer?[0]?.bool { states.append(isLocked) }
        }
        begin(states, isBack, by: "the screen saver")
        ready.finish(.success(()))
        var hasTold = !states.isEmpty
        for await isLocked in events {
            hasTold = true
            tell(isLocked, by: "the screen saver")
        }
        withExtendedLifetime(bus) {}
        return hasTold
    }

    /// Tells the state from before the first signal. An unlocked screen is news only after a lost bus.
    private func begin(_ states: [Bool], _ isBack: Bool, by source: String) {
        if states.contains(true) { tell(true, by: source) } else if isBack, !states.isEmpty { tell(false, by: source) }
    }

    private func followSessions(_ bus: BusConnection, _ ready: Promise<Void>, isBack: Bool) async -> Bool {
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
        let state = await property("LockedHint", of: own, on: bus)?.bool
        begin(state.map { [$0] } ?? [], isBack, by: "logind")
        ready.finish(.success(()))
        var hasTold = state != nil
        // One after the other, so that the last one counts.
        for await (path, isLocked) in events {
            let owner = await property("User", of: path, on: bus)?[0]?.uint32
            // A session that has just ended has no owner. Locking is the safe mistake.
            guard owner == SystemCall.effectiveUser || owner == nil && isLocked else { continue }
            hasTold = true
            tell(isLocked, by: "logind")
        }
        withExtendedLifetime(bus) {}
        return hasTold
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
