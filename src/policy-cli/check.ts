import { readFileSync } from 'node:fs'
import { CommandFailure, printFailure } from '../base/command-line.ts'
import { describeFileError } from '../base/file-error.ts'
import { type Attachment, issueText, PolicyError, readPolicy } from '../policy/index.ts'
import type { Terminal } from './terminal.ts'

const PROTOCOLS = ['https', 'http', 'tcp', 'tls'] as const

export interface CheckOptions {
  readonly protocol?: string | undefined
  /** Checks the policy as the module of an edge or route. */
  readonly edge: boolean
  readonly json: boolean
}

/** `adit policy check FILE`: prints every mistake with its line. The exit code is 1 when there is one. */
export function checkPolicy(file: string, options: CheckOptions, terminal: Terminal): number {
  const attachment = attachmentOf(options)
  const text = readText(file)
  try {
    const { phases } = readPolicy(text, attachment)
    const rules = Object.values(phases).flat().length
    if (options.json) terminal.out(`${JSON.stringify({ valid: true, rules, issues: [] })}\n`)
    else terminal.out(`The policy is valid: ${rules} ${rules === 1 ? 'rule' : 'rules'}.\n`)
    return 0
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    if (options.json) terminal.out(`${JSON.stringify({ valid: false, issues: error.issues.map(toJson) })}\n`)
    else printFailure(error.issues.map((issue) => toLine(file, issue)).join('\n'), terminal.error)
    return 1
  }
}

type Issue = PolicyError['issues'][number]

const codeOf = ({ code }: Issue) => `ERR_ADIT_${code}`

function toJson(issue: Issue) {
  const { message, path, line } = issue
  return { error_code: codeOf(issue), message, text: issueText(issue), path, line: line ?? null }
}

/** `policy.yml:7: … (ERR_ADIT_2201)`, as editors and compilers write it. */
function toLine(file: string, issue: Issue): string {
  const { line, ...others } = issue
  const place = line === undefined ? file : `${file}:${line}`
  return `${place}: ${issueText({ ...others, line: undefined })} (${codeOf(issue)})`
}

function attachmentOf({ protocol = 'https', edge }: CheckOptions): Attachment {
  const known = PROTOCOLS.find((name) => name === protocol)
  if (known === undefined)
    throw new CommandFailure(`--protocol must be one of ${PROTOCOLS.join(', ')}, not "${protocol}"`)
  if (!edge) return { protocol: known, place: 'endpoint' }
  if (known === 'http') throw new CommandFailure('there are no edges for http; use --protocol https')
  return { protocol: known, place: known === 'https' ? 'route' : 'edge' }
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${describeFileError(error)}`)
  }
}
