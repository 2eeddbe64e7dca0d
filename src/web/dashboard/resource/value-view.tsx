import type { ReactNode } from 'react'
import { ScrollRegion } from '../../shared/scroll-region.tsx'
import { choiceLabel, eventLabel, labelOf } from '../form/labels.ts'
import { displayName, pagePathOf } from '../form/references.ts'
import { Badge, BreakableText, CopyButton, Facts, Time, useApi } from '../kit/index.ts'
import type { FieldColumn, Item } from '../page-contracts.ts'
import { hrefTo } from '../route.ts'
import { useName } from './use-name.ts'

const ID = /^[a-z]{2,8}_[0-9A-Za-z]{10,}$/
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/
const EVENT_TYPE = /^[a-z_]+\.v0$/
const MAX_INLINE_LENGTH = 200
/** Fields with a copy button: keys and certificates for files and other programs. */
const COPYABLE_FIELD = /_pem$|^public_key$|^certificate$/
/** Fields with one of a few values, which have labels. */
const CHOICE_FIELDS = new Set([
  'role',
  'status',
  'type',
  'authority',
  'key_type',
  'private_key_type',
  'error_code',
])
/** Fields whose keys are data: names of headers and options are shown as they are. */
const MAP_FIELDS = new Set(['headers', 'critical_options', 'extensions', 'labels'])
/** Fields of every resource that the page shows in its heading. */
const HEADING_FIELDS = new Set(['id', 'uri', 'description', 'created_at'])

/** Displays any value of a resource; nothing if it is not set. */
export function ValueView({ value, name = '' }: { value: unknown; name?: string }): ReactNode {
  if (value === null || value === undefined || value === '') return null
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return <Items values={value} name={name} />
  if (typeof value === 'object') return <ObjectView value={value as Record<string, unknown>} name={name} />
  const text = String(value)
  if (TIMESTAMP.test(text)) return <Time value={text} exact />
  if (ID.test(text)) return <NamedLink id={text} />
  if (EVENT_TYPE.test(text)) return eventLabel(text)
  if (CHOICE_FIELDS.has(name)) return choiceLabel(text)
  if (name.endsWith('key_usages')) return labelOf(text)
  if (COPYABLE_FIELD.test(name))
    return (
      <div className="long-value">
        <LongValue name={name} text={text} />
        <CopyButton text={text} />
      </div>
    )
  if (text.includes('\n') || text.length > MAX_INLINE_LENGTH) return <LongValue name={name} text={text} />
  if (/key|token|addr|cidr|hash|serial/.test(name)) return <code>{text}</code>
  return text
}

/** A text of several lines; a long one scrolls, also by keyboard. */
function LongValue({ name, text }: { name: string; text: string }) {
  return (
    <ScrollRegion label={name === '' ? 'Value' : labelOf(name)}>
      <pre>{text}</pre>
    </ScrollRegion>
  )
}

function Items({ values, name }: { values: readonly unknown[]; name: string }) {
  if (values.length === 0) return null
  return (
    <ul>
      {values.map((value) => (
        <li key={JSON.stringify(value)}>
          <ValueView value={value} name={name} />
        </li>
      ))}
    </ul>
  )
}

function ObjectView({ value, name: field }: { value: Record<string, unknown>; name: string }) {
  if (typeof value.id === 'string' && typeof value.uri === 'string')
    return value.id.startsWith('ec_') ? <ConfigurationView id={value.id} /> : <NamedLink id={value.id} />
  const entries = Object.entries(value).filter(([name, each]) => name !== 'uri' && !isUnset(each))
  // An event source with only a type is displayed as its type.
  if (entries.length === 1 && entries[0]![0] === 'type') return <ValueView value={entries[0]![1]} />
  return (
    <Facts
      entries={entries.map(([name, each]) => [
        MAP_FIELDS.has(field) ? name : labelOf(name),
        <ValueView key={name} name={name} value={each} />,
      ])}
    />
  )
}

/** `usr_3M89…koVy`: short, but enough to tell ids apart. */
function ShortId({ id }: { id: string }) {
  const start = id.indexOf('_') + 1
  const text = id.length - start > 12 ? `${id.slice(0, start + 4)}…${id.slice(-4)}` : id
  return <code className="short-id">{text}</code>
}

/** An id that links to its page. */
export function IdLink({ id, name }: { id: string; name?: string | undefined }) {
  const page = pagePathOf(id)
  const text = name === undefined ? <ShortId id={id} /> : <BreakableText text={name} />
  return page === undefined ? (
    <span title={id}>{text}</span>
  ) : (
    <a href={hrefTo(page)} title={id}>
      {text}
    </a>
  )
}

/** An id link with its display name, once loaded. */
export function NamedLink({ id }: { id: string }) {
  const { name, readable } = useName(id)
  return readable ? (
    <IdLink id={id} name={name} />
  ) : (
    <span title={id}>{name === undefined ? <ShortId id={id} /> : <BreakableText text={name} />}</span>
  )
}

/** An endpoint configuration, which has no page of its own, with the modules that it applies. */
export function ConfigurationView({ id }: { id: string }) {
  const { value } = useApi<Item>(`/endpoint_configurations/${encodeURIComponent(id)}`)
  const modules = Object.entries(value ?? {})
    .filter(([, each]) => (each as { enabled?: boolean } | null)?.enabled === true)
    .map(([name]) => labelOf(name))
  return (
    <>
      <NamedLink id={id} />
      {value !== undefined && `: ${modules.join(', ') || 'no modules'}`}
    </>
  )
}

/** All set fields of a resource that are not in the heading. */
export function ItemFacts({ item, without = [] }: { item: Item; without?: readonly string[] | undefined }) {
  const entries = Object.entries(item).filter(
    ([name, value]) => !HEADING_FIELDS.has(name) && !without.includes(name) && !isUnset(value),
  )
  return (
    <Facts
      entries={entries.map(([name, value]) => [
        labelOf(name),
        <ValueView key={name} name={name} value={value} />,
      ])}
    />
  )
}

function isUnset(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value as object).every(isUnset)
}

/** A cell of a list. */
export function Cell({ item, column, href }: { item: Item; column: FieldColumn; href?: string }): ReactNode {
  const value = fieldOf(item, column.field)
  if (href !== undefined) {
    const name = typeof value === 'string' && value !== '' ? value : displayName(item)
    return (
      <a href={hrefTo(href)}>
        {column.format === 'code' || name === item.id ? (
          <code>{name}</code>
        ) : (
          <BreakableText text={column.format === 'choice' ? choiceLabel(name) : name} />
        )}
      </a>
    )
  }
  switch (column.format) {
    case 'time':
      return typeof value === 'string' && value !== '' ? <Time value={value} /> : null
    case 'code':
      return <code>{String(value ?? '')}</code>
    case 'link':
      return typeof value === 'string' && value !== '' ? <NamedLink id={value} /> : null
    case 'badge':
      return <Badge>{choiceLabel(value)}</Badge>
    case 'active':
      return <Badge tone={value ? 'good' : 'warn'}>{value ? 'active' : 'inactive'}</Badge>
    case 'enforced':
      return <Badge tone={value ? 'good' : 'warn'}>{value ? 'enforced' : 'not enforced'}</Badge>
    case 'choice':
      return choiceLabel(value)
    case 'count':
      return Array.isArray(value) ? value.length || '–' : '–'
    case 'number':
      return typeof value === 'number' ? value : '–'
    case 'kind':
      return kindLabelOf(value)
    default:
      return String(value ?? '')
  }
}

/** The value at a path such as `deployment.version`. */
function fieldOf(item: Item, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], item)
}

/** The label of the one field that is set. */
function kindLabelOf(value: unknown): string {
  const entry = Object.entries((value ?? {}) as object).find(([, each]) => each !== null)
  return entry ? labelOf(entry[0]) : ''
}
