import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, api, sentenceOf } from '../api.ts'
import type { ApiCall } from '../equivalent.ts'
import { Button, Equivalents, Failed, Loading, Notice } from '../kit/index.ts'
import { bodySchema, type OpenApi, type Schema, templateOf, useOpenApi } from '../openapi.ts'
import { useSession } from '../session.ts'
import { type FormContext, SchemaFields } from './fields.tsx'
import { labelOf } from './labels.ts'
import { belongsTo, changesOf, filledIn, shownName, type Values, valuesOf } from './model.ts'
import './form.css'

/** Fields that few people fill in; they stand behind a line that opens them. */
const MORE = ['metadata', 'owner_id', 'endpoint_configuration_id']

export interface ResourceFormProps<T> {
  /** POST sends what was filled in, PATCH what was changed, PUT everything. */
  readonly method: 'POST' | 'PATCH' | 'PUT'
  /** Where it is sent, such as `/ip_policies` or `/ip_policies/ipp_1`. */
  readonly path: string
  /** The thing as the API shows it, to start from. */
  readonly item?: Readonly<Record<string, unknown>> | undefined
  /** Sent along and not shown, such as the policy a rule belongs to. */
  readonly given?: Values
  /** The fields to show, in this order; all of them when left out. */
  readonly only?: readonly string[] | undefined
  /** Further fields that few people fill in. */
  readonly later?: readonly string[] | undefined
  /** What the button says. */
  readonly verb: string
  readonly onDone: (answer: T) => void
  readonly onCancel?: () => void
  /** The first field takes the focus. */
  readonly focusFirst?: boolean
  /** Further fields or words above the buttons. */
  readonly children?: ReactNode
}

/** A form made from the declaration of what an operation takes. */
export function ResourceForm<T>(props: ResourceFormProps<T>) {
  const { document, error } = useOpenApi()
  if (error) return <Failed error={error} />
  if (!document) return <Loading />
  const template = templateOf(document, props.path)
  const schema = template && bodySchema(document, props.method, template)
  if (!template || !schema)
    return <Notice kind="bad">The server has no operation {`${props.method} ${props.path}`}.</Notice>
  return <Filled {...props} document={document} template={template} schema={schema} />
}

/** The field that an error stands beside. */
const REFUSED = '[aria-invalid=true], .wrong input, .wrong select'

function Filled<T>({
  method,
  path,
  item,
  given = {},
  only,
  later = [],
  verb,
  onDone,
  onCancel,
  focusFirst = false,
  children,
  document,
  template,
  schema,
}: ResourceFormProps<T> & { document: OpenApi; template: string; schema: Schema }) {
  const before = useMemo(() => valuesOf(schema, item ?? {}, document), [schema, item, document])
  const [values, setValues] = useState<Values>(before)
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => {
    if (focusFirst) form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [focusFirst])

  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>(REFUSED)?.focus()
  }, [error])

  const detachPath = (name: string) => `${template}/${shownName(name)}`
  const context: FormContext = {
    document,
    tag: template
      .split('/')
      .filter((step) => step && !step.startsWith('{'))
      .join('_'),
    error,
    editing: item !== undefined,
    clearable: (name) => method !== 'PATCH' || document.paths[detachPath(name)]?.delete !== undefined,
  }
  const calls = callsOf()

  /** The calls that bring about what the form shows. */
  function callsOf(): ApiCall[] {
    if (method !== 'PATCH') return [{ method, path, body: { ...filledIn(values), ...given } }]
    const { changed, cleared } = changesOf(before, values)
    const gone = cleared
      .filter((name) => document.paths[detachPath(name)]?.delete !== undefined)
      .map((name) => ({ method: 'DELETE', path: `${path}/${shownName(name)}` }))
    return [...gone, { method, path, body: { ...changed, ...given } }]
  }

  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      let answer: unknown
      for (const call of calls)
        answer =
          call.method === 'DELETE'
            ? await api.delete(call.path)
            : await api[call.method === 'POST' ? 'post' : call.method === 'PUT' ? 'put' : 'patch'](
                call.path,
                call.body,
              )
      onDone(answer as T)
    } catch (caught) {
      setError(caught instanceof ApiError ? caught : new ApiError(0, '', sentenceOf(caught)))
      setBusy(false)
    }
  }

  const { user } = useSession().session
  // Only administrators may name an owner other than themselves.
  const owns = user === null || user.role === 'admin'
  const names = (only ?? inOrder(schema)).filter((name) => !(name in given) && (owns || name !== 'owner_id'))
  const more = names.filter((name) => MORE.includes(name) || later.includes(name))
  const shown = names.filter((name) => !more.includes(name))
  const fields = { schema, path: '', values, onValues: setValues, context }
  const misplaced = error && !names.some((name) => belongsTo(error.field, name))
  const inMore = more.some(
    (name) => belongsTo(error?.field, name) || (!later.includes(name) && (before[name] ?? '') !== ''),
  )
  return (
    <form ref={form} className="form" noValidate onSubmit={(event) => void send(event)}>
      <SchemaFields {...fields} names={shown} />
      {more.length > 0 && (
        <details className="more" open={inMore || undefined}>
          <summary>
            {more.length > 2 ? 'More settings' : more.map((name) => labelOf(name)).join(' and ')}
          </summary>
          <SchemaFields {...fields} names={more} />
        </details>
      )}
      {children}
      {error && (
        <Notice kind="bad">
          {misplaced ? error.message : `Not saved. ${labelOf(error.field!.split(/[.[]/)[0]!)}: see above.`}
        </Notice>
      )}
      <div className="form-actions">
        <Button kind="main" type="submit" busy={busy}>
          {verb}
        </Button>
        {onCancel && (
          <Button kind="quiet" onClick={onCancel}>
            Cancel
          </Button>
        )}
      </div>
      <Equivalents calls={calls} />
    </form>
  )
}

/** What has to be said first, then what people will know it by, then the rest. */
function inOrder({ properties = {}, required = [] }: Schema): string[] {
  const rank = (name: string) => (required.includes(name) ? 0 : name === 'description' ? 1 : 2)
  return Object.keys(properties).sort((one, other) => rank(one) - rank(other))
}
