// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import StandIn

extension TodoSettings {
    /// The settings for the stand-in for the cloud.
    ///
    /// - Throws: ``SettingsError`` when its addresses are not what they should be.
    public init(standIn: StandIn.Addresses) throws {
        let signIn = try B2CPolicy(url: standIn.b2cAuthority(policy: "b2c_1_susi").description)
        self.init(clientID: standIn.clientID, signIn: signIn, taskAPI: standIn.todo)
        editProfile = try signIn.policy(named: "b2c_1_edit")
        resetPassword = try signIn.policy(named: "b2c_1_reset")
    }
}
