"""Print a script that lets a shell complete commands, options and their values.

    xspn completion bash > ~/.local/share/bash-completion/completions/xspn
    xspn completion zsh > ~/.zfunc/_xspn        # a folder of $fpath
    xspn completion fish > ~/.config/fish/completions/xspn.fish

The script is text: nothing is started while you type. Print it again after an upgrade.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from xspn.cli.output import write_utf8

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class CommandOption:
    """An option of a command.

    Attributes:
        names: How it is written, such as -o and --output.
        help: What it is for, in a line.
        choices: The values that it takes, if they are few.
        takes_value: Whether a value follows.
    """

    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class Command:
    """A command: its name, what it does, its options, and the words that may stand first."""

    name: str
    help: str
    options: tuple[CommandOption, ...]
    words: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    write_utf8({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](list(commands())))
    return 0


def commands() -> Iterator[Command]:
    """Yield every command, as its own parser describes it."""
    from xspn.cli.main import COMMANDS

    for name, summary in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=name)
        import_module(f"xspn.cli.{name}").add_arguments(parser)
        options: list[CommandOption] = []
        words: list[str] = []
        for action in parser._actions:
            choices = tuple(str(choice) for choice in action.choices or ())
            if action.option_strings:
                text = " ".join((action.help or "").split())
                takes_value = action.nargs != 0
                options.append(CommandOption(tuple(action.option_strings), text, choices, takes_value))
            else:
                words += choices
        yield Command(name, summary, tuple(options), tuple(words))


def bash(known: list[Command]) -> str:
    """Return the script for bash: values where they are few, options after a dash, files otherwise."""
    lines = [
        "# bash completion for xspn",
        "_xspn() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(own.name for own in known)} --help --version" -- "$cur"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $prev" in',
    ]
    for own in known:
        for option in own.options:
            if option.choices:
                pattern = "|".join(f'"{own.name} {name}"' for name in option.names)
                lines.append(f'        {pattern}) words="{" ".join(option.choices)}" ;;')
    lines += ["    esac", '    if [ -z "$words" ]; then', '        case "${COMP_WORDS[1]}" in']
    for own in known:
        names = " ".join(name for option in own.options for name in option.names)
        first = f' [ "$COMP_CWORD" -eq 2 ] && words="{" ".join(own.words)}";' if own.words else ""
        lines.append(f'            {own.name}){first} case "$cur" in -*) words="{names}" ;; esac ;;')
    lines += [
        "        esac",
        "    fi",
        '    if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); fi',
        "}",
        "complete -o default -F _xspn xspn",
    ]
    return "\n".join(lines) + "\n"


def zsh(known: list[Command]) -> str:
    """Return the script for zsh."""
    lines = ["#compdef xspn", "_xspn() {", "  local -a commands", "  commands=("]
    lines += [f"    {_quoted(f'{own.name}:{own.help}')}" for own in known]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "  local command=$words[2]",
        "  shift words; (( CURRENT-- ))",
        '  case "$command" in',
    ]
    for own in known:
        specs = []
        for option in own.options:
            value = ":value:" + (f"({' '.join(option.choices)})" if option.choices else "_files")
            text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
            for name in option.names:
                specs.append(_quoted(f"*{name}[{text}]{value if option.takes_value else ''}"))
        specs.append(_quoted(f"1:word:({' '.join(own.words)})") if own.words else "'*:file:_files'")
        lines.append(f"    {own.name}) _arguments {' '.join(specs)} ;;")
    lines += ["  esac", "}", 'if [ "$funcstack[1]" = "_xspn" ]; then _xspn "$@"; else compdef _xspn xspn; fi']
    return "\n".join(lines) + "\n"


def fish(known: list[Command]) -> str:
    """Return the script for fish."""
    lines = ["# fish completion for xspn"]
    for own in known:
        lines.append(f"complete -c xspn -n __fish_use_subcommand -f -a {own.name} -d {_quoted(own.help)}")
        where = _quoted(f"__fish_seen_subcommand_from {own.name}")
        if own.words:
            lines.append(f"complete -c xspn -n {where} -f -a {_quoted(' '.join(own.words))}")
        for option in own.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -r" * option.takes_value
            lines.append(f"complete -c xspn -n {where} {names}{value} -d {_quoted(option.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text between single quotes, as all three shells take it."""
    return "'" + text.replace("'", "'\\''") + "'"
