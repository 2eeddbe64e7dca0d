import { type ReactNode, useId } from 'react'
import type { ApiError } from '../api.ts'
import { Button, Field, Switch } from '../kit/index.ts'
import { type OpenApi, resolved, type Schema } from '../openapi.ts'
import { areEventSources, EventSources } from './event-sources.tsx'
import { choiceLabel, hintOf, labelOf } from './labels.ts'
import { belongsTo, kindOf, type Values } from './model.ts'
import { ManyPicker, Picker, Weights } from './pickers.tsx'
import { Lines, Pairs, Suggested } from './texts.tsx'

/** What all fields of one form share. */
export interface FormContext {
  readonly document: OpenApi
  /** The resource, for words that are its own. */
  readonly tag: string
  readonly error: ApiError | undefined
  /** The thing is there already; its secrets are, but are not shown. */
  readonly editing: boolean
  /** Whether a field that is set can be taken away again. */
  readonly clearable: (path: string) => boolean
}

interface FieldProps {
  readonly name: string
  readonly path: string
  readonly schema: Schema
  readonly required: boolean
  readonly value: unknown
  readonly onValue: (value: unknown) => void
  readonly context: FormContext
}

/** The field that a schema asks for. */
export function SchemaField(props: FieldProps) {
  const { name, path, value, onValue, context, required } = props
  const schema = resolved(props.schema, context.document)
  const kind = kindOf(name, schema, context.document)
  const label = labelOf(name)
  const hint = schema.description ?? hintOf(context.tag, name)
  const error = belongsTo(context.error?.field, path) ? context.error?.message : undefined
  const common = { label, hint, error, required }
  const text = typeof value === 'string' ? value : ''

  switch (kind) {
    case 'switch':
      return (
        <Switch
          label={label}
          hint={hint}
          error={error}
          checked={(value ?? schema.default ?? false) === true}
          onChecked={onValue}
        />
      )
    case 'number':
      return (
        <Field {...common} hint={hint ?? boundsOf(schema)}>
          {(control) => (
            <input
              {...control}
              type="number"
              inputMode="decimal"
              step="any"
              placeholder={schema.default === undefined ? '' : String(schema.default)}
              value={value === undefined ? '' : String(value)}
              onChange={(event) =>
                onValue(event.target.value === '' ? undefined : Number(event.target.value))
              }
            />
          )}
        </Field>
      )
    case 'choice':
      return <Choice {...props} schema={schema} common={common} />
    case 'reference':
      return (
        <Field {...common}>
          {(control) => (
            <Picker
              prefixes={schema['x-refers-to']!}
              value={text || undefined}
              onValue={onValue}
              control={control}
            />
          )}
        </Field>
      )
    case 'references':
      return (
        <Field {...common}>
          {(control) => (
            <ManyPicker
              prefixes={resolved(schema.items!, context.document)['x-refers-to']!}
              value={(value as string[] | undefined) ?? []}
              onValue={onValue}
              control={control}
            />
          )}
        </Field>
      )
    case 'list':
      return (
        <Field {...common} hint={hint ?? 'One a line.'}>
          {(control) => (
            <Lines value={(value as string[] | undefined) ?? []} onValue={onValue} control={control} />
          )}
        </Field>
      )
    case 'map':
      return (
        <Field {...common}>
          {(control) => (
            <Pairs
              label={label}
              value={(value as Values | undefined) ?? {}}
              numbers={isNumeric(schema.additionalProperties)}
              onValue={onValue}
              control={control}
            />
          )}
        </Field>
      )
    case 'weights':
      return (
        <Field {...common}>
          {(control) => (
            <Weights
              prefixes={schema.propertyNames!['x-refers-to']!}
              value={(value as Record<string, number> | undefined) ?? {}}
              onValue={onValue}
              control={control}
            />
          )}
        </Field>
      )
    case 'object':
      return <ObjectField {...props} schema={schema} />
    case 'one-of':
      return <OneOfField {...props} schema={schema} />
    case 'objects':
      return <ObjectsField {...props} schema={schema} />
    case 'long':
      return (
        <Field {...common}>
          {(control) => (
            <textarea
              {...control}
              className="code"
              rows={/pem|key|body/.test(name) ? 6 : 3}
              value={text}
              onChange={(event) => onValue(event.target.value)}
            />
          )}
        </Field>
      )
    case 'secret':
      return (
        <Field
          {...common}
          hint={
            hint ??
            (context.editing && text === ''
              ? 'Not shown again. Give it anew if you change anything beside it.'
              : undefined)
          }
        >
          {(control) => (
            <input
              {...control}
              type="password"
              autoComplete="new-password"
              value={text}
              onChange={(event) => onValue(event.target.value || undefined)}
            />
          )}
        </Field>
      )
    case 'text':
      return (
        <Field {...common}>
          {(control) =>
            schema.examples ? (
              <Suggested words={schema.examples} value={text} onValue={onValue} control={control} />
            ) : (
              <input
                {...control}
                autoComplete="off"
                placeholder={typeof schema.default === 'string' ? schema.default : ''}
                value={text}
                onChange={(event) => onValue(event.target.value)}
              />
            )
          }
        </Field>
      )
  }
}

const isNumeric = (schema: boolean | Schema | undefined) =>
  typeof schema === 'object' &&
  [schema.type ?? []].flat().some((type) => type === 'integer' || type === 'number')

function boundsOf({ minimum, maximum }: Schema): string | undefined {
  if (minimum === undefined || maximum === undefined || maximum >= 4_294_967_295) return undefined
  return `From ${minimum} to ${maximum}.`
}

function Choice({
  schema,
  value,
  onValue,
  common,
}: FieldProps & {
  common: { label: string; hint: string | undefined; error: string | undefined; required: boolean }
}) {
  const words = (schema.enum ?? []).filter((word) => word !== null)
  const unset = schema.default === undefined ? 'Choose…' : `${choiceLabel(schema.default)} (default)`
  // The default is offered once, as what holds when nothing is chosen.
  const offered = value === undefined ? words.filter((word) => word !== schema.default) : words
  return (
    <Field {...common}>
      {(control) => (
        <select
          {...control}
          value={value === undefined ? '' : String(value)}
          onChange={(event) => onValue(words.find((word) => String(word) === event.target.value))}
        >
          {value === undefined && <option value="">{unset}</option>}
          {offered.map((word) => (
            <option key={String(word)} value={String(word)}>
              {choiceLabel(word)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** The fields of an object, one below the other. */
export function SchemaFields({
  schema,
  path,
  values,
  onValues,
  context,
  names = Object.keys(schema.properties ?? {}),
}: {
  schema: Schema
  path: string
  values: Values
  onValues: (values: Values) => void
  context: FormContext
  names?: readonly string[]
}) {
  return names.map((name) => (
    <SchemaField
      key={name}
      name={name}
      path={path === '' ? name : `${path}.${name}`}
      schema={schema.properties![name]!}
      required={schema.required?.includes(name) ?? false}
      value={values[name]}
      onValue={(value) => onValues({ ...values, [name]: value })}
      context={context}
    />
  ))
}

function ObjectField({ name, path, schema, required, value, onValue, context }: FieldProps) {
  const set = required || value !== undefined
  const stuck = !required && context.editing && value !== undefined && !context.clearable(path)
  return (
    <Group title={labelOf(name)} hint={hintOf(context.tag, name)} error={errorOfGroup(context, path, schema)}>
      {!required && (
        <Switch
          label={`Set ${labelOf(name).toLowerCase()}`}
          checked={set}
          disabled={stuck}
          onChecked={(on) => onValue(on ? {} : undefined)}
        />
      )}
      {set && (
        <SchemaFields
          schema={schema}
          path={path}
          values={(value as Values | undefined) ?? {}}
          onValues={onValue}
          context={context}
        />
      )}
    </Group>
  )
}

function OneOfField({ name, path, schema, value, onValue, context }: FieldProps) {
  const given = (value as Values | undefined) ?? {}
  const ways = Object.keys(schema.properties ?? {})
  const way = ways.find((each) => given[each] !== undefined && given[each] !== null)
  const inner = way === undefined ? undefined : resolved(schema.properties![way]!, context.document)
  return (
    <Group title={labelOf(name)} hint={hintOf(context.tag, name)} error={errorOfGroup(context, path, schema)}>
      <Field label="Kind" required>
        {(control) => (
          <select
            {...control}
            value={way ?? ''}
            onChange={(event) =>
              onValue(event.target.value === '' ? undefined : { [event.target.value]: {} })
            }
          >
            <option value="">Choose…</option>
            {ways.map((each) => (
              <option key={each} value={each}>
                {labelOf(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {way !== undefined && inner && (
        <SchemaFields
          schema={inner}
          path={`${path}.${way}`}
          values={given[way] as Values}
          onValues={(values) => onValue({ [way]: values })}
          context={context}
        />
      )}
    </Group>
  )
}

function ObjectsField({ name, path, schema, value, onValue, context }: FieldProps) {
  const items = resolved(schema.items!, context.document)
  const rows = (value as Values[] | undefined) ?? []
  const own = context.error?.field === path ? context.error.message : undefined
  if (areEventSources(name, items)) {
    const error = belongsTo(context.error?.field, path) ? context.error?.message : undefined
    return (
      <Group title={labelOf(name)} hint={hintOf(context.tag, name)} error={error}>
        <EventSources path={path} items={items} value={rows} onValue={onValue} context={context} />
      </Group>
    )
  }
  return (
    <Group title={labelOf(name)} hint={hintOf(context.tag, name)} error={own}>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
        <div key={index} className="sub-form">
          <SchemaFields
            schema={items}
            path={`${path}[${index}]`}
            values={row}
            onValues={(values) => onValue(rows.map((each, at) => (at === index ? values : each)))}
            context={context}
          />
          <Button kind="quiet" onClick={() => onValue(rows.filter((_, at) => at !== index))}>
            Remove
          </Button>
        </div>
      ))}
      <div>
        <Button onClick={() => onValue([...rows, {}])}>Add</Button>
      </div>
    </Group>
  )
}

/** An error about the object as a whole, or about a field of it that the form does not have. */
function errorOfGroup({ error }: FormContext, path: string, schema: Schema): string | undefined {
  if (error === undefined || !belongsTo(error.field, path)) return undefined
  const inside = error.field!.slice(path.length + 1).split(/[.[]/)[0]!
  return Object.hasOwn(schema.properties ?? {}, inside) ? undefined : error.message
}

function Group({
  title,
  hint,
  error,
  children,
}: {
  title: string
  hint: string | undefined
  error: string | undefined
  children: ReactNode
}) {
  const id = useId()
  return (
    <fieldset className={error ? 'group wrong' : 'group'} aria-describedby={error || hint ? id : undefined}>
      <legend>{title}</legend>
      {(hint || error) && (
        <div id={id}>
          {error && <p className="field-error">{error}</p>}
          {hint && <p className="field-hint">{hint}</p>}
        </div>
      )}
      {children}
    </fieldset>
  )
}
