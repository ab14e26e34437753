// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Keys and a certificate that OpenSSH 9.2 made, for these tests alone: the private keys are gone.
///
/// ```sh
/// ssh-keygen -t rsa -b 2048 -N '' -C alice@laptop -f first
/// ssh-keygen -s authority -I 'alice at example' -n alice@example.com,alice -z 7 \
///     -V 20260101000000Z:20260101010000Z first.pub
/// ```
package enum SSHExample {
    /// The content of `first.pub`, without its comment.
    package static let first = "ssh-rsa " + blob
    package static let blob =
        "AAAAB3NzaC1yc2EAAAADAQABAAABAQDlwpPd/n8ef/vTWBBUS4ql688hkpVTJwLNiarkff3H5mwZvdMMXOvEhvgGRiI2uKsRhSy7Pw7WQXGp"
        + "5TwcC5qHXiztsB6m9HuVTN9VCPWjGun+N+TpSBokAjDkntOgFz7ehfXaHuEE9Gjvnyr+W2KOmBUU01APS4TXuFYA8Am+E+A66Yytazxk+mQf"
        + "eTKOu5Eceyvm66H2PsaYUthGAMGEKj57uabsZc9ksGcODDOMDCsfpmcYrK/ITbVbVc09ylT0cZECJAy/EAjQsTtd+lJZuU9XK40AjT5Wuk92"
        + "1p7T84PuZomn+chgUTw6f0Yhurr8l/Fgk2NXWVX6TrVRvVNF"
    /// The thumbprint of the first key, computed by another program.
    package static let thumbprint = "9fPsqJRAFtMZ18yMKbptFXISroNctFcnfw_w-szsA3g"

    package static let second =
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCfxZjmHwxJ7waWIji/n7TvqYs9yDzKdFM3GzLBRsEklb6otLPy+y9U5w6RgvmYwJx2eVdI"
        + "3KwAx7dgtzz6MkcpfgEemXNNzsJU7XulKjwtJBew7XTii/WUGfjbIdIVmWqHMzS8vQX0QM12XAG82nHMq1Cw+mBCJa+ls0+oO4InulL15VHw"
        + "1YBQBoaitp7w8O+7tmFNk9mHLIHgP8dYzQXmekSUBiOjTLzm0AWkzRzeBATH7HG2oWKucnHEcqMam5pnJ6oe5eEhq2SVrlFIMCHZnMcrCHhe"
        + "HupJC5IyW+dRqRC246APkdh7O/hVskzaqK5VT0+y4tVfvDtFI0RvdaJr"

    /// The first key's certificate, without its type.
    package static let certificate =
        "AAAAHHNzaC1yc2EtY2VydC12MDFAb3BlbnNzaC5jb20AAAAg55qY02i1kQT4xBt7y/Uvqg/6o/MvCqtTc1761852lYIAAAADAQABAAABAQDl"
        + "wpPd/n8ef/vTWBBUS4ql688hkpVTJwLNiarkff3H5mwZvdMMXOvEhvgGRiI2uKsRhSy7Pw7WQXGp5TwcC5qHXiztsB6m9HuVTN9VCPWjGun+"
        + "N+TpSBokAjDkntOgFz7ehfXaHuEE9Gjvnyr+W2KOmBUU01APS4TXuFYA8Am+E+A66Yytazxk+mQfeTKOu5Eceyvm66H2PsaYUthGAMGEKj57"
        + "uabsZc9ksGcODDOMDCsfpmcYrK/ITbVbVc09ylT0cZECJAy/EAjQsTtd+lJZuU9XK40AjT5Wuk921p7T84PuZomn+chgUTw6f0Yhurr8l/Fg"
        + "k2NXWVX6TrVRvVNFAAAAAAAAAAcAAAABAAAAEGFsaWNlIGF0IGV4YW1wbGUAAAAeAAAAEWFsaWNlQGV4YW1wbGUuY29tAAAABWFsaWNlAAAA"
        + "AGlVuQAAAAAAaVXHEAAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0LWFnZW50LWZvcndhcmRpbmcAAAAA"
        + "AAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAACnBlcm1pdC1wdHkAAAAAAAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAA"
        + "C3NzaC1lZDI1NTE5AAAAIPcXJ3sxw+WGl7QsFyqomNR7gPjQhlNr1TOUE6Kn15lsAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEC0oGuM8kfL7UO4"
        + "d75NcptOZZixPfg9yJ5ZPsQHLE1Pg77jlSAwlOthAizkjNypQa8KpN0w8q45giIhMrQIcisE"
}
