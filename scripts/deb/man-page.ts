import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** Runs this checkout's program, whatever machine the package is for. */
export const runAdit = (...args: string[]): string =>
  execFileSync(join(root, 'bin', 'adit'), args, { encoding: 'utf8', env: { PATH: process.env.PATH } })

/** adit(1): what the program's own help says, so that both say the same. */
export function manPage(version: string, documents: string): string {
  return `.TH ADIT 1 "" "adit ${escapeRoff(version)}" "User Commands"
.SH NAME
adit \\- public URLs for local services, on your own server
.SH SYNOPSIS
.B adit
[\\fIoptions\\fR] \\fIcommand\\fR
.SH DESCRIPTION
${verbatim(runAdit('--help'))}
.SH THE SERVER
${verbatim(runAdit('server', '--help'))}
.SH THE MANAGEMENT API
${verbatim(runAdit('api', '--help'))}
.SH FILES
.TP
.I /etc/adit/adit.env
Settings of the server that the unit adit.service runs.
.TP
.I /etc/adit/agent.yml
Configuration of the agent that the unit adit\\-agent.service runs.
.SH SEE ALSO
.I ${escapeRoff(documents)}
`
}

const verbatim = (text: string) => `.nf\n${escapeRoff(text.trim())}\n.fi`

/** Roff interprets backslashes everywhere, hyphens as hyphens, and a dot or an apostrophe that begins a line. */
const escapeRoff = (text: string) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
