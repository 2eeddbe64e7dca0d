import { printFailure } from '../base/command-line.ts'
import { type Attachment, issueText, type Policy, PolicyError, readPolicy } from '../policy/index.ts'
import type { CommandOutput } from './command-output.ts'
import { type AttachmentFlags, attachmentOf, readFile } from './policy-file.ts'

export interface CheckOptions extends AttachmentFlags {
  readonly json: boolean
}

/** `adit policy check FILE`: prints every mistake with its line. The exit code is 1 when there is one. */
export function checkPolicy(file: string, options: CheckOptions, terminal: CommandOutput): number {
  const policy = readPolicyFile(file, attachmentOf(options), options.json, terminal)
  if (policy === undefined) return 1
  const rules = Object.values(policy.phases).flat().length
  if (options.json) terminal.out(`${JSON.stringify({ valid: true, rules, issues: [] })}\n`)
  else terminal.out(`The policy is valid: ${rules} ${rules === 1 ? 'rule' : 'rules'}.\n`)
  return 0
}

/** Reads a policy; prints its mistakes and returns undefined when it has some. */
export function readPolicyFile(
  file: string,
  attachment: Attachment,
  json: boolean,
  terminal: CommandOutput,
): Policy | undefined {
  const text = readFile(file).toString()
  try {
    return readPolicy(text, attachment)
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    if (json)
      terminal.out(
        `${JSON.stringify({ valid: false, issues: error.issues.map(toJson), more: error.more })}\n`,
      )
    else printFailure(describe(file, error).join('\n'), terminal.error)
    return undefined
  }
}

function describe(file: string, { issues, more }: PolicyError): string[] {
  const lines = issues.map((issue) => toLine(file, issue))
  return more > 0 ? [...lines, `and ${more} more`] : lines
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
  const location = line === undefined ? file : `${file}:${line}`
  return `${location}: ${issueText({ ...others, line: undefined })} (${codeOf(issue)})`
}
