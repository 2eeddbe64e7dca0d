import type { ErrorEntry } from './catalogue.ts'

const INTRODUCTION = `# Errors

Generated from the declarations: \`node scripts/errors.ts\`.

Every error has a code \`ERR_ADIT_<number>\`. \`adit help CODE\` explains one on the terminal, and every server explains them at
\`/docs/errors/CODE\` of its API listener.

Clients that speak the dialect of the original service get the same numbers as \`ERR_NGROK_<number>\`: calls of the management API with
the header \`Ngrok-Version\`, and messages of the agent protocol, which the official SDKs read (decision [167](decisions/api.md#167)).

Errors of the management API are JSON bodies that always have the same four keys:

\`\`\`json
{
  "error_code": "ERR_ADIT_215",
  "status_code": 400,
  "msg": "cidr: \\"10.0.0.1/8\\" has bits set below its mask; write the lowest address of the range.",
  "details": { "operation_id": "op_2cFzDCmVC4zYPkrsVDvQdLgcIbl", "field": "cidr" }
}
\`\`\`

\`details\` is a map of strings. \`operation_id\` is also in the header \`Adit-Operation-Id\`, in the server's log and in the audit
log. \`field\` names the field to correct, as written in the request: \`acl[0]\`, \`certificate_management_policy.authority\`. It is
absent if the error concerns the whole body, or something that is not in the request.
Programs should use \`status_code\` and \`error_code\`; the sentence in \`msg\` is for people and may change.

Public endpoints show the code on their error page and in the response header \`Adit-Error-Code\`. The page links to the explanation
where visitors can reach the API: when \`--api-url\` is set. Agents print the code as the last lines of a fatal error, return it in
the local API and show it in \`adit diagnose\`.
`

/** The text of docs/errors.md. */
export function formatErrorDocument(entries: readonly ErrorEntry[]): string {
  const sections = [...Map.groupBy(entries, ({ area }) => area)].map(([area, group]) => {
    const rows = group.map(
      ({ code, status, cause, next }) => `| \`${code}\` | ${status ?? '–'} | ${cause} | ${next} |`,
    )
    return `\n## ${area}\n\n| Code | Status | Cause | Next step |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return INTRODUCTION + sections.join('')
}
