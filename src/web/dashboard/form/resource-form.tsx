import { type ReactNode, useMemo, useState } from 'react'
import { type ApiError, api } from '../api.ts'
import type { ApiCall } from '../equivalent.ts'
import { Form, LoadError, Loading, Notice } from '../kit/index.ts'
import { bodySchema, type OpenApi, type Schema, templateOf, useOpenApi } from '../openapi.ts'
import type { FormChanges } from '../page-contracts.ts'
import { useSession } from '../session.ts'
import { type FormContext, SchemaFields } from './fields.tsx'
import { labelOf, lowerFirst } from './labels.ts'
import { belongsTo, diffValues, dropEmptyValues, responseName, type Values, valuesOf } from './model.ts'
import './form.css'

/** Rarely used fields, collapsed by default. */
const ADVANCED_FIELDS = ['metadata', 'owner_id', 'endpoint_configuration_id', 'region']

export interface ResourceFormProps<T> extends FormChanges {
  /** POST sends the non-empty values, PATCH the changed ones, PUT all of them. */
  readonly method: 'POST' | 'PATCH' | 'PUT'
  /** The API path, such as `/ip_policies` or `/ip_policies/ipp_1`. */
  readonly path: string
  /** The resource to edit, as the API returns it. */
  readonly item?: object | undefined
  /** Values sent but not shown, such as the policy of a rule. */
  readonly fixedValues?: Values
  /** The fields to show, in this order; all by default. */
  readonly only?: readonly string[] | undefined
  /** Further fields to collapse. */
  readonly advanced?: readonly string[] | undefined
  /** The label of the submit button. */
  readonly verb: string
  readonly onDone: (answer: T) => void
  readonly onCancel?: () => void
  /** Focuses the first field. */
  readonly focusFirst?: boolean
  /** Content above the buttons. */
  readonly children?: ReactNode
}

/** A form generated from the request schema of an operation. */
export function ResourceForm<T>(props: ResourceFormProps<T>) {
  const { document, error } = useOpenApi()
  if (error) return <LoadError error={error} />
  if (!document) return <Loading />
  const template = templateOf(document, props.path)
  const schema = template && bodySchema(document, props.method, template)
  if (!template || !schema)
    return <Notice kind="bad">The server has no operation {`${props.method} ${props.path}`}.</Notice>
  return <LoadedForm {...props} document={document} template={template} schema={schema} />
}

function LoadedForm<T>({
  method,
  path,
  item,
  fixedValues = {},
  only,
  advanced = [],
  verb,
  onDone,
  onCancel,
  focusFirst = false,
  children,
  omit,
  require,
  document,
  template,
  schema: requestSchema,
}: ResourceFormProps<T> & { document: OpenApi; template: string; schema: Schema }) {
  const schema = useMemo(() => changeSchema(requestSchema, { omit, require }), [requestSchema, omit, require])
  const initial = useMemo(() => valuesOf(schema, { ...item }, document), [schema, item, document])
  const [values, setValues] = useState<Values>(initial)
  const detachPath = (name: string) => `${template}/${responseName(name)}`
  const context: Omit<FormContext, 'error'> = {
    apiPath: path,
    values,
    document,
    editing: item !== undefined,
    clearable: (name) => method !== 'PATCH' || document.paths[detachPath(name)]?.delete !== undefined,
  }
  const calls = callsOf()

  /** The API calls that submit the form. */
  function callsOf(): ApiCall[] {
    if (method !== 'PATCH') return [{ method, path, body: { ...dropEmptyValues(values), ...fixedValues } }]
    const { changed, cleared } = diffValues(initial, values)
    const deletions = cleared
      .filter((name) => document.paths[detachPath(name)]?.delete !== undefined)
      .map((name) => ({ method: 'DELETE', path: `${path}/${responseName(name)}` }))
    return [...deletions, { method, path, body: { ...changed, ...fixedValues } }]
  }

  // Only administrators may set another owner.
  const canSetOwner = useSession().session.role === 'admin'
  const names = (only ?? fieldOrder(schema)).filter(
    (name) => !(name in fixedValues) && (canSetOwner || name !== 'owner_id'),
  )
  const advancedNames = names.filter((name) => ADVANCED_FIELDS.includes(name) || advanced.includes(name))
  const mainNames = names.filter((name) => !advancedNames.includes(name))
  const isPlaced = ({ field }: ApiError) => names.some((name) => belongsTo(field, name))
  const isOpen = (error: ApiError | undefined) =>
    advancedNames.some(
      (name) => belongsTo(error?.field, name) || (!advanced.includes(name) && (initial[name] ?? '') !== ''),
    )
  const fieldsFor = (error: ApiError | undefined) => ({
    schema,
    path: '',
    values,
    onValues: setValues,
    context: { ...context, error },
  })
  const save = async () => {
    let response: unknown
    for (const call of calls) response = await sendCall(call)
    onDone(response as T)
  }
  return (
    <Form save={save} verb={verb} onCancel={onCancel} calls={calls} focusFirst={focusFirst}>
      {(error) => (
        <>
          <SchemaFields {...fieldsFor(error)} names={mainNames} />
          {advancedNames.length > 0 && (
            <details
              className={advancedNames.length === 1 ? 'more single' : 'more'}
              open={isOpen(error) || undefined}
            >
              <summary>{describeFields(advancedNames)}</summary>
              <SchemaFields {...fieldsFor(error)} names={advancedNames} />
            </details>
          )}
          {children}
          {error && (
            <Notice kind="bad">
              {!isPlaced(error)
                ? error.message
                : `Not saved. ${labelOf(error.field!.split(/[.[]/)[0]!)}: see above.`}
            </Notice>
          )}
        </>
      )}
    </Form>
  )
}

/** `Metadata and owner`. */
function describeFields([first, second, ...rest]: readonly string[]): string {
  if (rest.length > 0) return 'More settings'
  return second === undefined ? labelOf(first!) : `${labelOf(first!)} and ${lowerFirst(labelOf(second))}`
}

function sendCall({ method, path, body }: ApiCall): Promise<unknown> {
  if (method === 'DELETE') return api.delete(path)
  return api[method === 'POST' ? 'post' : method === 'PUT' ? 'put' : 'patch'](path, body)
}

function changeSchema(schema: Schema, { omit = [], require = [] }: FormChanges): Schema {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !omit.includes(name))
  return {
    ...schema,
    properties: Object.fromEntries(properties),
    required: [...(schema.required ?? []), ...require],
  }
}

/** Required fields first, then the description, then the rest. */
function fieldOrder({ properties = {}, required = [] }: Schema): string[] {
  const rank = (name: string) => (required.includes(name) ? 0 : name === 'description' ? 1 : 2)
  return Object.keys(properties).sort((one, other) => rank(one) - rank(other))
}
