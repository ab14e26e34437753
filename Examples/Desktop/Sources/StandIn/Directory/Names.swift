// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The names of the directory's people. Many need more than 26 letters.
enum Names {
    static let given = [
        "Aaron", "Abigail", "Adéla", "Ahmet", "Aino", "Ana", "Anders", "Aoife", "Beatriz", "Björn", "Carla", "Chidi",
        "Chloé", "Ciarán", "Daniel", "D'Arcy", "Elif", "Emma", "Eoin", "Fatima", "Félix", "Giulia", "Grace", "Hana",
        "Henrik", "Ingrid", "Isabel", "Ivan", "Jürgen", "Kwame", "Lars", "Łukasz", "Maria", "Marie", "Mario", "Miguel",
        "Nadia", "Noor", "Olivia", "Oskar", "Priya", "Quentin", "Rosa", "Siobhán", "Sofia", "Tomáš", "Umar", "Zoë",
        "Александр", "Ольга", "Ελένη", "محمد", "נועה", "प्रिया", "伟", "秀英", "翔太", "지우",
    ]

    static let surnames = [
        "Almeida", "Andersson", "Bianchi", "Brown", "Chen", "D'Angelo", "Dubois", "Fischer", "García", "Haddad",
        "Ivanova", "Jansen", "Kowalska", "Larsen", "Mensah", "Müller", "Ní Dhomhnaill", "Novák", "O'Brien", "O'Neill",
        "Okafor", "Papadopoulos", "Patel", "Quinn", "Rossi", "Sato", "Smith", "Şahin", "Tanaka", "Ueda", "van der Berg",
        "Virtanen", "Walsh", "Yılmaz", "Zhang", "王", "李", "田中", "김", "Смирнов",
    ]

    static let titles = ["Engineer", "Designer", "Accountant", "Researcher", "Nurse", "Editor", "Gardener"]
}
