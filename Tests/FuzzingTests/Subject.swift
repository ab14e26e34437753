// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The fuzzed readers: each one that reads data from a server, a browser, a file or another program.
enum Subject: String, CaseIterable {
    case cacheRecord = "cache-record"
    case fileHeader = "file-header"
    case tokenAnswer = "token-answer"
    case deviceAnswer = "device-answer"
    case discovery
    case keySet = "key-set"
    case idToken = "id-token"
    case redirectRequest = "redirect-request"
    case challenge
    case nonce
    case clientInfo = "client-info"
    case sharedCache = "shared-cache"
    case forwardedMessage = "forwarded-message"

    /// Reads `bytes` as the library would. Ends the program if an invariant does not hold.
    func read(_ bytes: [UInt8]) {
        switch self {
        case .cacheRecord: Reading.cacheRecord(bytes)
        case .fileHeader: Reading.fileHeader(bytes)
        case .tokenAnswer: Reading.tokenAnswer(bytes)
        case .deviceAnswer: Reading.deviceAnswer(bytes)
        case .discovery: Reading.discovery(bytes)
        case .keySet: Reading.keySet(bytes)
        case .idToken: Reading.idToken(bytes)
        case .redirectRequest: Reading.redirectRequest(bytes)
        case .challenge: Reading.challenge(bytes)
        case .nonce: Reading.nonce(bytes)
        case .clientInfo: Reading.clientInfo(bytes)
        case .sharedCache: Reading.sharedCache(bytes)
        case .forwardedMessage: Reading.forwardedMessage(bytes)
        }
    }
}

/// The readings, one for each subject.
enum Reading {}
