// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import TodoListModel

/// A field for a new task, and the tasks beneath it.
@MainContext
final class TaskList {
    enum Page: String { case empty, tasks }

    /// The widget for the window.
    let widget: Widget
    /// Called with the text of a new task.
    var onAdd: (@MainContext (String) -> Void)?
    /// Called when a box was checked or unchecked.
    var onChange: (@MainContext (TodoTask, Bool) -> Void)?
    /// Called with the task whose remove button was pressed.
    var onRemove: (@MainContext (TodoTask) -> Void)?

    private let entry = TextField(hint: tr("New Task"))
    private let stack = Stack<Page>()
    private let list = ListBox(.boxed, name: tr("Tasks"))
    private var rows: [TaskRow] = []

    init() {
        let form = Box.row(spacing: 6, entry.expanding())
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
        form.append(Button(icon: "list-add-symbolic", hint: tr("Add the Task")) { [weak self] in self?.add() })
        entry.onActivation { [weak self] in self?.add() }
        list.onActivation { [weak self] in self?.rows[$0].toggle() }
    }

    /// Shows tasks. Rows that stay are reused, so that the keyboard focus does not move.
    func show(_ tasks: [TodoTask]) {
        stack.show(tasks.isEmpty ? .empty : .tasks)
        guard rows.map(\.task.id) != tasks.map(\.id) else {
            for (row, task) in zip(rows, tasks) { row.show(task) }
            return
        }
        let focused = list.focusedRow
        list.removeAll()
        rows = tasks.map { task in
            TaskRow(task) { [weak self] in
                self?.onChange?($0, $1)
            } onRemove: { [weak self] in
                self?.onRemove?($0)
            }
        }
        for row in rows { list.append(row.row) }
        // The row with the focus is gone: the one in its place has it now.
        guard let focused else { return }
        if rows.isEmpty { entry.focusWhenShown() } else { rows[min(focused, rows.count - 1)].row.focusWhenShown() }
    }

    /// Moves the keyboard focus to the field, now or when it is on display.
    func focusEntry() {
        entry.focus()
        entry.focusWhenShown()
    }

    /// Restores a text that could not be added, unless the person has typed something else meanwhile.
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

/// A row for a task, with a check box and a remove button.
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
        row = Row(title: task.text, prefix: box, isActivatable: true)
        row.crossOut(task.isDone)
        let remove = Button(icon: "user-trash-symbolic", hint: tr("Remove: {0}", task.text)) { onRemove(task) }
        row.add(remove.styled("flat").aligned(vertically: .center))
        box.onChange { [weak self] isDone in
            // Ignores changes by the program itself, which agree with the task.
            guard let self, isDone != self.task.isDone else { return }
            self.onChange(self.task, isDone)
        }
    }

    func show(_ task: TodoTask) {
        self.task = task
        box.isChecked = task.isDone
        row.crossOut(task.isDone)
    }

    func toggle() {
        box.isChecked.toggle()
    }
}
