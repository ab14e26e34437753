// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import TodoListModel

/// A field for a new task, and the tasks beneath it.
@MainContext
final class TaskList {
    enum Page: String { case empty, tasks }

    /// What to put into the window.
    let widget: Widget
    /// Is called with the text of a new task.
    var onAdd: (@MainContext (String) -> Void)?
    /// Is called when a box was ticked, or a tick taken away.
    var onChange: (@MainContext (TodoTask, Bool) -> Void)?
    /// Called with the task whose button to remove it was pressed.
    var onRemove: (@MainContext (TodoTask) -> Void)?

    private let entry = EntryRow(title: tr("New Task"))
    private let stack = Stack<Page>()
    private let list = ListBox(.boxed)
    private var rows: [TaskRow] = []

    init() {
        let form = ListBox(.boxed)
        form.append(entry)
        stack.add(
            .empty,
            StatusPage(
                icon: "emblem-ok-symbolic",
                title: tr("Nothing to Do"),
                description: tr("Write down what you do not want to forget.")
            )
        )
        stack.add(.tasks, ScrolledView(Clamp(list.margin(horizontal: 12, vertical: 12).aligned(vertically: .start))))
        widget = Box.column(
            Clamp(form.margin(horizontal: 12, vertical: 12)),
            stack.expanding(vertically: true)
        )
        list.named(tr("Tasks"))
        entry.add(
            Button(icon: "list-add-symbolic", hint: tr("Add the Task")) { [weak self] in self?.add() }
                .styled("flat").aligned(vertically: .center)
        )
        entry.onActivation { [weak self] in self?.add() }
        list.onActivation { [weak self] in self?.rows[$0].toggle() }
    }

    /// Shows tasks. Rows that stay are not made anew, so that the keyboard's focus stays where it is.
    func show(_ tasks: [TodoTask]) {
        stack.show(tasks.isEmpty ? .empty : .tasks)
        guard rows.map(\.task.id) != tasks.map(\.id) else {
            for (row, task) in zip(rows, tasks) { row.show(task) }
            return
        }
        list.removeAll()
        rows = tasks.map { task in
            TaskRow(task) { [weak self] in
                self?.onChange?($0, $1)
            } onRemove: { [weak self] in
                self?.onRemove?($0)
            }
        }
        for row in rows { list.append(row.row) }
    }

    /// Moves the keyboard's focus to the field.
    func focusEntry() {
        entry.focus()
    }

    /// Puts a text back that could not be added, unless something else was typed meanwhile.
    func restore(_ text: String) {
        if entry.text.isEmpty { entry.text = text }
    }

    private func add() {
        let text = entry.text.drop(while: \.isWhitespace)
        guard !text.isEmpty else { return }
        entry.text = ""
        onAdd?(String(text))
    }
}

/// A task, with a box to tick and a button that removes it.
@MainContext
private final class TaskRow {
    let row: Row
    private(set) var task: TodoTask
    private let box: CheckBox
    private let onChange: @MainContext (TodoTask, Bool) -> Void

    init(
        _ task: TodoTask,
        onChange: @escaping @MainContext (TodoTask, Bool) -> Void,
        onRemove: @escaping @MainContext (TodoTask) -> Void
    ) {
        self.task = task
        self.onChange = onChange
        box = CheckBox(isChecked: task.isDone).named(tr("Done: {0}", task.text))
        row = Row(title: task.text, prefix: box, isActivatable: true).wrapping()
        row.setStyled("dim-label", task.isDone)
        let remove = Button(icon: "user-trash-symbolic", hint: tr("Remove: {0}", task.text)) { onRemove(task) }
        row.add(remove.styled("flat").aligned(vertically: .center))
        box.onChange { [weak self] isDone in
            // The program's own changes agree with the task.
            guard let self, isDone != self.task.isDone else { return }
            self.onChange(self.task, isDone)
        }
    }

    func show(_ task: TodoTask) {
        self.task = task
        box.isChecked = task.isDone
        row.setStyled("dim-label", task.isDone)
    }

    func toggle() {
        box.isChecked.toggle()
    }
}
