import { stringify } from 'yaml'
import type { AccountChange, AccountExport, AccountReport } from '../api-client/index.ts'
import { CommandFailure, printFailure } from '../base/process/command-line.ts'
import type { Output } from '../command-line/index.ts'
import { type ApiFlags, findApiAccess } from './access.ts'
import { AccountFile, editorSchema } from './account-file.ts'
import { ApiFailure, sendCall } from './call.ts'

export interface ApplyOptions extends ApiFlags {
  readonly file: string | undefined
  /** Prints the plan alone. */
  readonly diff: boolean
  readonly prune: boolean
  /** Prints the JSON Schema of documents. */
  readonly schema: boolean
}

// Not through the API's index.ts, which would load the whole server.
const loadRoutes = async () => (await import('../api/account/routes.ts')).accountRoutes

/** As long as the API keeps a connection without traffic. */
const APPLY_TIMEOUT_MS = 120_000
/** The exit code of `--diff` when there are differences. */
const DIFFERENT = 2
const MAX_VALUE_LENGTH = 100
const INTERRUPTED = 'Some changes may have been made. Run the command again to continue.'

/**
 * `adit apply -f FILE`: prints the plan, then makes the account match the document. The exit code is 1 when a change is
 * rejected, and 2 when `--diff` finds differences.
 */
export async function applyAccount(options: ApplyOptions, output: Output): Promise<number> {
  const { body: schema, method, path } = (await loadRoutes()).apply
  if (options.schema) {
    output.out(`${JSON.stringify(editorSchema(schema), null, 2)}\n`)
    return 0
  }
  if (options.file === undefined)
    throw new CommandFailure('The document is missing. Write: adit apply -f account.yml')
  const file = new AccountFile(options.file)
  const document = file.value(schema, process.env)
  const access = findApiAccess(options, process.env)
  const send = async (dryRun: boolean): Promise<AccountReport> => {
    const body = { ...document, prune: options.prune, dry_run: dryRun }
    try {
      return (await sendCall({ method, path, body }, access, APPLY_TIMEOUT_MS)) as AccountReport
    } catch (error) {
      if (error instanceof ApiFailure && error.field !== undefined)
        throw new CommandFailure(`${file.locate(error.field)}: ${error.message}`)
      throw error
    }
  }

  const plan = await send(true)
  for (const change of plan.changes) if (change.error === null) output.out(formatChange(change))
  output.out(`Plan: ${formatCounts(plan, ['to create', 'to update', 'to delete'])}.\n`)
  const differs = plan.changes.length > 0
  if (options.diff || plan.failed > 0) {
    printErrors(plan, file, output)
    if (plan.failed > 0 && !options.diff) output.error('Nothing was changed.\n')
    return plan.failed > 0 ? 1 : differs ? DIFFERENT : 0
  }
  // Resources that were not managed so far are adopted even if nothing differs.
  const report = await send(false).catch((error: Error) => {
    if (error instanceof ApiFailure || !(error instanceof CommandFailure)) throw error
    throw new CommandFailure(`${error.message}\n${INTERRUPTED}`)
  })
  for (const { kind, name, shown_once } of report.changes)
    for (const [field, value] of Object.entries(shown_once))
      output.out(`${kind}.${name}: ${field} ${value} (shown only now)\n`)
  output.out(`Applied: ${formatCounts(report, ['created', 'updated', 'deleted'])}.\n`)
  printErrors(report, file, output)
  return report.failed > 0 ? 1 : 0
}

/** `adit export`: prints the document of the account, without secrets. */
export async function exportAccount(flags: ApiFlags, output: Output): Promise<number> {
  const { method, path } = (await loadRoutes()).export
  const access = findApiAccess(flags, process.env)
  const exported = await sendCall({ method, path }, access, APPLY_TIMEOUT_MS)
  const { document, omitted_secrets } = exported as AccountExport
  const note =
    omitted_secrets.length === 0
      ? ''
      : '# Secrets are not exported. Applying a document without them keeps them:\n'
  output.out(`${note}${omitted_secrets.map((secret) => `#   ${secret}\n`).join('')}`)
  output.out(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }))
  return 0
}

function formatChange({ action, kind, name, fields }: AccountChange): string {
  const lines = fields.map(({ field, old, new: value, secret }) => {
    if (secret) return `  ${field}: (secret)`
    if (action === 'update') return `  ${field}: ${formatValue(old)} -> ${formatValue(value)}`
    return `  ${field}: ${formatValue(action === 'create' ? value : old)}`
  })
  return [`${action} ${kind}.${name}`, ...lines].map((line) => `${printable(line)}\n`).join('')
}

function formatValue(value: unknown): string {
  if (value === null) return '(unset)'
  const text = JSON.stringify(value)
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
}

/** Control characters of a value must not reach the terminal. */
const printable = (text: string) => text.replace(/[^\P{C}\p{Cf}]/gu, ' ')

function formatCounts(report: AccountReport, [create, update, remove]: [string, string, string]): string {
  const { created, updated, deleted, unchanged } = report
  return `${created} ${create}, ${updated} ${update}, ${deleted} ${remove}, ${unchanged} unchanged`
}

function printErrors({ changes }: AccountReport, file: AccountFile, output: Output): void {
  for (const { kind, name, error } of changes) {
    if (error === null) continue
    const entry = `${kind}.${name}`
    const location = file.locate(error.field === null ? entry : `${entry}.${error.field}`)
    printFailure(printable(`${location}: ${entry}: ${error.msg} (${error.error_code})`), output.error)
  }
}
