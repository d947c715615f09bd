"""One reply of a model, by the OpenAI SDK: `python complete.py MODEL "QUESTION"`."""

import os
import sys

from openai import OpenAI

address = os.environ.get("KITH_URL", "http://127.0.0.1:5484")
client = OpenAI(base_url=f"{address}/v1", api_key=os.environ["KITH_SERVE_TOKEN"])
reply = client.chat.completions.create(model=sys.argv[1], messages=[{"role": "user", "content": sys.argv[2]}])
print(reply.choices[0].message.content)
