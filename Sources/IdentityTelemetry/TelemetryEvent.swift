// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Something that is counted or measured.
package enum TelemetryEvent: Hashable, Sendable {
    /// An activity ended.
    case finished(Activity, Completion, Duration)
    /// A refresh began, or a caller joined one.
    case refresh(RefreshPart)

    package enum RefreshPart: String, CaseIterable, Sendable {
        /// The refresh itself.
        case led
        /// A caller that waits for a refresh which another caller began.
        case shared
    }
}

/// A value of a metric.
package struct Measurement: Hashable, Sendable {
    package struct Label: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package let name: String
    package let labels: [Label]
    /// The measured time; `nil` for a count of one.
    package let duration: Duration?

    private init(_ name: String, _ labels: [(String, String)], _ duration: Duration? = nil) {
        self.name = name
        self.labels = labels.map { Label(name: $0.0, value: $0.1) }
        self.duration = duration
    }

    /// Returns the values that an event adds to the metrics. A metric has the same labels in every value, as Prometheus requires.
    package static func of(_ event: TelemetryEvent) -> [Measurement] {
        switch event {
        case .refresh(let part): [Measurement("identity_refreshes", [("part", part.rawValue)])]
        case .finished(let activity, let completion, let duration) where activity.isAcquisition:
            [
                Measurement(
                    "identity_acquisitions",
                    [
                        ("kind", activity.rawValue), ("outcome", completion.outcome.rawValue),
                        ("source", completion.source ?? "none"), ("error", completion.error ?? "none"),
                    ]
                ),
                Measurement("identity_acquisition_duration", times("kind", activity, completion), duration),
            ]
        case .finished(let activity, let completion, let duration):
            [Measurement("identity_phase_duration", times("phase", activity, completion), duration)]
        }
    }

    private static func times(_ label: String, _ activity: Activity, _ completion: Completion) -> [(String, String)] {
        [(label, activity.rawValue), ("outcome", completion.outcome.rawValue)]
    }
}
