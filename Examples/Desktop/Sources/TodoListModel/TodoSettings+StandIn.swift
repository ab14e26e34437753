// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import StandIn

extension TodoSettings {
    /// Creates the settings for the stand-in for the cloud.
    ///
    /// - Throws: ``SettingsError`` if the stand-in's addresses do not have the expected form.
    public init(standIn: StandIn.Addresses) throws {
        let signIn = try B2CPolicy(url: standIn.b2cAuthority(policy: "b2c_1_susi").description)
        self.init(clientID: standIn.clientID, signIn: signIn, taskAPI: standIn.todo)
        editProfile = try signIn.policy(named: "b2c_1_edit")
        resetPassword = try signIn.policy(named: "b2c_1_reset")
    }
}
