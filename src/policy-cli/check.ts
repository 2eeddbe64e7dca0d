import { printFailure } from '../base/process/command-line.ts'
import type { Output } from '../command-line/index.ts'
import { factKindsOf, issueText, PolicyError, reviewPolicy } from '../policy/index.ts'
import { type AttachmentFlags, attachmentOf, readFile, readIpFiles } from './policy-file.ts'

export interface CheckOptions extends AttachmentFlags {
  readonly json: boolean
  /** Files with facts about addresses that the server has. */
  readonly ipData: readonly string[]
}

/**
 * `adit policy check FILE`: prints every mistake and every warning with its line. The exit code is 1 when there is a
 * mistake, also one that the server accepts: an expression that can never do what it says.
 */
export function checkPolicy(file: string, options: CheckOptions, terminal: Output): number {
  const knownFacts = factKindsOf(readIpFiles(options.ipData))
  const review = readPolicyFile(file, options.json, terminal, (text) =>
    reviewPolicy(text, attachmentOf(options), knownFacts),
  )
  if (review === undefined) return 1
  const { policy, mistakes, warnings } = review
  const valid = mistakes.length === 0
  const rules = Object.values(policy.phases).flat().length
  if (options.json) {
    const report = { valid, rules, issues: mistakes.map(toJson), warnings: warnings.map(toWarning) }
    terminal.out(`${JSON.stringify(report)}\n`)
  } else {
    for (const warning of warnings) terminal.error(`${warningLine(file, warning)}\n`)
    if (valid) terminal.out(`The policy is valid: ${rules} ${rules === 1 ? 'rule' : 'rules'}.\n`)
    else printFailure(mistakes.map((issue) => toLine(file, issue)).join('\n'), terminal.error)
  }
  return valid ? 0 : 1
}

/** Reads a policy; prints its mistakes and returns undefined when it has some. */
export function readPolicyFile<T>(
  file: string,
  json: boolean,
  terminal: Output,
  read: (text: string) => T,
): T | undefined {
  const text = readFile(file).toString()
  try {
    return read(text)
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

function toWarning(issue: Issue) {
  const { error_code: _, ...warning } = toJson(issue)
  return warning
}

/** `policy.yml:7: warning: …`, as editors and compilers write it. */
function warningLine(file: string, { line, ...issue }: Issue): string {
  return `${locationOf(file, line)}: warning: ${issueText({ ...issue, line: undefined })}`
}

const locationOf = (file: string, line: number | undefined) => (line === undefined ? file : `${file}:${line}`)

/** `policy.yml:7: … (ERR_ADIT_2201)`, as editors and compilers write it. */
function toLine(file: string, issue: Issue): string {
  const { line, ...others } = issue
  return `${locationOf(file, line)}: ${issueText({ ...others, line: undefined })} (${codeOf(issue)})`
}
