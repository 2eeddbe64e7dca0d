import { policyErrors } from './error-codes.ts'
import {
  type ActionDescription,
  describeLanguage,
  type FunctionDescription,
  type VariableDescription,
} from './language.ts'
import { PHASES, type PhaseName } from './phases.ts'

const INTRODUCTION = `# Traffic policy reference

Generated from the declarations that the server checks policies with: \`node scripts/policy-reference.ts\`. [Traffic policies](traffic-policy.md)
explains how they are attached and evaluated.
`

/** The text of docs/traffic-policy-reference.md. */
export function formatLanguagePage(): string {
  const { phases, actions, variables, functions } = describeLanguage()
  const sections = [
    section(
      'Phases',
      table(
        ['Phase', 'When'],
        phases.map(({ name, description }) => [code(name), description]),
      ),
    ),
    section('Actions', actions.map(formatAction).join('\n')),
    section(
      'Variables',
      `\`[]\` stands for an index or a key, such as \`req.headers['accept'][0]\`. The results of actions are with the actions.\n\n${formatVariables(variables)}`,
    ),
    section('Functions', formatFunctions(functions)),
    section(
      'Errors',
      table(
        ['Code', 'Cause'],
        Object.values(policyErrors).map((error) => [code(`ERR_ADIT_${error.code}`), error.cause]),
      ),
    ),
  ]
  return INTRODUCTION + sections.join('')
}

const ENDS: Readonly<Record<ActionDescription['ends'], string>> = {
  always: ' It ends the phase.',
  sometimes: ' It ends the phase when it rejects.',
  never: '',
}

function formatAction(action: ActionDescription): string {
  const { type, aliases, description, phases, ends, fields, results, example } = action
  const also = aliases.length === 0 ? '' : ` Older name: ${aliases.map(code).join(', ')}.`
  const parts = [
    `### ${type}\n`,
    `${description}${ENDS[ends]}${also} Phases: ${phases.map(code).join(', ')}.\n`,
  ]
  if (fields.length > 0)
    parts.push(
      table(
        ['Field', 'Value', 'Default', 'What it is'],
        fields.map((field) => [
          code(field.name),
          field.type,
          field.required ? 'required' : shownDefault(field.default),
          field.description,
        ]),
      ),
    )
  const values = results.filter((result) => result.type !== 'object')
  if (values.length > 0)
    parts.push(`Sets ${values.map(({ name, type }) => `${code(name)} (${type})`).join(', ')}.\n`)
  parts.push(`\`\`\`yaml\n${example}\`\`\`\n`)
  return parts.join('\n')
}

function formatVariables(variables: readonly VariableDescription[]): string {
  return [...Map.groupBy(variables, ({ name }) => name.split('.')[0]!)]
    .map(([root, group]) => {
      const rows = group.map(({ name, type }) => [code(name), type])
      return `### ${root}\n\nPhases: ${phaseText(group[0]!.phases)}.\n\n${table(['Variable', 'Type'], rows)}`
    })
    .join('\n')
}

function formatFunctions(functions: readonly FunctionDescription[]): string {
  const [standard, own] = [true, false].map((isStandard) =>
    [
      ...Map.groupBy(
        functions.filter((each) => each.standard === isStandard),
        ({ name }) => name,
      ),
    ].map(([name, forms]) => [
      code(name),
      forms.map(({ signature }) => code(signature)).join('<br>'),
      phaseText(forms[0]!.phases),
    ]),
  )
  const heads = ['Function', 'Forms', 'Phases']
  return `### Functions of policies\n\n${table(heads, own!)}\n### Functions of CEL\n\nA capital letter stands for any type, \`e\` for a list or map.\n\n${table(heads, standard!)}`
}

const phaseText = (phases: readonly PhaseName[]): string =>
  phases.length === PHASES.length ? 'all' : phases.map(code).join(', ')

const shownDefault = (value: unknown) => (value === undefined ? '' : code(JSON.stringify(value)))

const section = (title: string, body: string) => `\n## ${title}\n\n${body}`

const code = (text: string) => `\`${text}\``

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows]
  return `${lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')}\n`
}
