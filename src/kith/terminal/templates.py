"""`kith templates`: common tasks, and what each wants to know."""

import argparse
import json

from kith.agent.templates import list_templates
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE
from kith.terminal.options import find_root


def templates_command(args: argparse.Namespace) -> int:
    """Each template with its parameters, their types and meanings."""
    templates = list_templates(find_root(args.folder))
    if args.json:
        print(json.dumps(encode(templates), indent=2))
        return EXIT_DONE
    for template in templates:
        print(f"{template.name}: {template.about}")
        width = max((len(each.name) for each in template.parameters), default=0)
        for each in template.parameters:
            default = (
                f" ({each.default})" if each.default else " (may be left out)" if each.default == "" else ""
            )
            print(f"  {each.name:{width}}  {each.about or each.kind}{default}")
        print()
    print("To use one: kith run --template bugfix traceback=@log.txt   (kith build takes them too)")
    return EXIT_DONE
