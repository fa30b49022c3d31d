/// Another program's topic that enters as writes of one class.
package struct Route: Hashable, Sendable {
    /// Where it stands in `agent.toml`.
    package let line: Int
    package let from: TopicFilter
    package let app: AppName
    package let className: ClassName
    package let operation: Operation

    package init(
        line: Int, from: TopicFilter, app: AppName, className: ClassName, operation: Operation
    ) {
        self.line = line
        self.from = from
        self.app = app
        self.className = className
        self.operation = operation
    }
}
