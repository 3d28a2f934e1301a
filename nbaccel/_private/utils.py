"""Words of errors, by Ray's private path."""


def format_error_message(exception_message: str, task_exception: bool = False) -> str:
    """A traceback's text; of a task's without the two lines of the frame that called the user's code."""
    lines = exception_message.split("\n")
    return "\n".join(lines[:1] + lines[3:] if task_exception else lines)
