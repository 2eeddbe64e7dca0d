import { lazy, type ReactNode, Suspense, useId } from 'react'
import type { ApiError } from '../api.ts'
import { Button, type ControlProps, Field, Loading, Switch } from '../kit/index.ts'
import { type OpenApi, resolveSchema, type Schema } from '../openapi.ts'
import { policyAttachment, trialUrl } from '../policy/attachment.ts'
import { EventSources, isEventSourceList } from './event-sources.tsx'
import { choiceLabel, labelOf } from './labels.ts'
import { belongsTo, type FieldKind, kindOf, type Values } from './model.ts'
import { MultiPicker, Picker, Weights } from './pickers.tsx'
import { LinesInput, PairsInput, SuggestInput } from './texts.tsx'

const ErrorPagePreview = lazy(async () => {
  const { ErrorPagePreview } = await import('../pages/error-pages/error-page-preview.tsx')
  return { default: ErrorPagePreview }
})
const PolicyEditor = lazy(() => import('../policy/policy-editor.tsx'))

/** Shared by all fields of a form. */
export interface FormContext {
  /** Where the form is sent, and all its values. */
  readonly apiPath: string
  readonly values: Values
  readonly document: OpenApi
  readonly error: ApiError | undefined
  /** The resource exists; its secrets are set but not shown. */
  readonly editing: boolean
  /** Whether a set field can be cleared. */
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

/** The form field of a schema. */
function SchemaField(props: FieldProps) {
  const { name, path, value, onValue, context, required } = props
  const schema = resolveSchema(props.schema, context.document)
  const kind = kindOf(name, schema, context.document)
  const label = labelOf(name)
  const hint = hintOf(schema, kind, context, value)
  const error = belongsTo(context.error?.field, path) ? context.error?.message : undefined
  const common = { label, hint, error, required }

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
    case 'choice':
      return <ChoiceField {...props} schema={schema} common={common} />
    case 'object':
      return <ObjectField {...props} schema={schema} />
    case 'one-of':
      return <OneOfField {...props} schema={schema} />
    case 'objects':
      return <ObjectsField {...props} schema={schema} />
    default:
      return (
        <Field {...common}>
          {(control) => <SchemaControl {...props} schema={schema} kind={kind} control={control} />}
        </Field>
      )
  }
}

interface SchemaControlProps extends FieldProps {
  readonly kind: Exclude<FieldKind, 'switch' | 'choice' | 'object' | 'one-of' | 'objects'>
  readonly control: ControlProps
}

/** The control of a field that has a label and a hint of its own. */
function SchemaControl(props: SchemaControlProps) {
  const { name, kind, schema, value, onValue, context, control } = props
  const text = typeof value === 'string' ? value : ''
  switch (kind) {
    case 'number':
      return (
        <input
          {...control}
          type="number"
          inputMode="decimal"
          step="any"
          placeholder={schema.default === undefined ? '' : String(schema.default)}
          value={value === undefined ? '' : String(value)}
          onChange={(event) => onValue(event.target.value === '' ? undefined : Number(event.target.value))}
        />
      )
    case 'reference':
      return (
        <Picker
          prefixes={schema['x-refers-to']!}
          value={text || undefined}
          onValue={onValue}
          control={control}
        />
      )
    case 'references':
      return (
        <MultiPicker
          prefixes={resolveSchema(schema.items!, context.document)['x-refers-to']!}
          value={(value as string[] | undefined) ?? []}
          onValue={onValue}
          control={control}
        />
      )
    case 'list':
      return <LinesInput value={(value as string[] | undefined) ?? []} onValue={onValue} control={control} />
    case 'map':
      return (
        <PairsInput
          label={labelOf(name)}
          value={(value as Values | undefined) ?? {}}
          numbers={isNumeric(schema.additionalProperties)}
          onValue={onValue}
          control={control}
        />
      )
    case 'weights':
      return (
        <Weights
          prefixes={schema.propertyNames!['x-refers-to']!}
          value={(value as Record<string, number> | undefined) ?? {}}
          onValue={onValue}
          control={control}
        />
      )
    case 'long':
      return <LongText {...props} />
    case 'secret':
      return (
        <input
          {...control}
          type="password"
          autoComplete="new-password"
          value={text}
          onChange={(event) => onValue(event.target.value || undefined)}
        />
      )
    case 'text':
      return schema.examples ? (
        <SuggestInput suggestions={schema.examples} value={text} onValue={onValue} control={control} />
      ) : (
        <input
          {...control}
          autoComplete="off"
          dir="auto"
          placeholder={typeof schema.default === 'string' ? schema.default : ''}
          value={text}
          onChange={(event) => onValue(event.target.value)}
        />
      )
  }
}

/** A text of several lines; traffic policies have an editor. */
function LongText({ name, path, schema, value, onValue, context, control }: SchemaControlProps) {
  const text = typeof value === 'string' ? value : ''
  const attachment = policyAttachment(context.apiPath, path, context.values)
  if (attachment !== undefined)
    return (
      <Suspense fallback={<Loading />}>
        <PolicyEditor
          value={text}
          onValue={onValue}
          control={control}
          attachment={attachment}
          trialUrl={trialUrl(attachment, context.values)}
        />
      </Suspense>
    )
  return (
    <>
      <textarea
        {...control}
        dir="auto"
        className="code"
        rows={rowsOf(name, schema)}
        value={text}
        onChange={(event) => onValue(event.target.value)}
      />
      {name === 'html' && text !== '' && (
        <Suspense fallback={<Loading />}>
          <ErrorPagePreview html={text} status={String(context.values.status ?? '')} />
        </Suspense>
      )}
    </>
  )
}

const isNumeric = (schema: boolean | Schema | undefined) =>
  typeof schema === 'object' &&
  [schema.type ?? []].flat().some((type) => type === 'integer' || type === 'number')

/** What the API says about the field, and how to fill in the control. */
function hintOf(
  schema: Schema,
  kind: FieldKind,
  { editing }: FormContext,
  value: unknown,
): string | undefined {
  const sentences = [schema.description]
  if (kind === 'list') sentences.push('One per line.')
  if (kind === 'number') sentences.push(boundsOf(schema))
  if (kind === 'secret' && editing && (value ?? '') === '')
    sentences.push('Enter it again if you change anything in this group.')
  return sentences.filter(Boolean).join(' ') || undefined
}

/** The range of a number, unless its description says it. */
function boundsOf({ minimum, maximum, description = '' }: Schema): string | undefined {
  if (minimum === undefined || maximum === undefined || maximum >= 4_294_967_295) return undefined
  const range = `rom ${minimum} to ${maximum}`
  return description.includes(range) ? undefined : `F${range}.`
}

function ChoiceField({
  schema,
  value,
  onValue,
  common,
}: FieldProps & {
  common: { label: string; hint: string | undefined; error: string | undefined; required: boolean }
}) {
  const choices = (schema.enum ?? []).filter((choice) => choice !== null)
  const preset = schema.default ?? choices.find((choice) => choice === '')
  const placeholder = preset === undefined ? 'Choose…' : `${choiceLabel(preset)} (default)`
  // The default appears once, as the unset option.
  const options = value === undefined ? choices.filter((choice) => choice !== preset) : choices
  return (
    <Field {...common}>
      {(control) => (
        <select
          {...control}
          value={value === undefined ? '' : String(value)}
          onChange={(event) => onValue(choices.find((choice) => String(choice) === event.target.value))}
        >
          {value === undefined && <option value="">{placeholder}</option>}
          {options.map((choice) => (
            <option key={String(choice)} value={String(choice)}>
              {choiceLabel(choice)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** The fields of an object. */
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
  const isSet = required || value !== undefined
  const locked = !required && context.editing && value !== undefined && !context.clearable(path)
  return (
    <Group title={labelOf(name)} hint={schema.description} error={groupErrorOf(context, path, schema)}>
      {!required && (
        <Switch
          label={`Set ${labelOf(name).toLowerCase()}`}
          checked={isSet}
          disabled={locked}
          onChecked={(checked) => onValue(checked ? {} : undefined)}
        />
      )}
      {isSet && (
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
  const current = (value as Values | undefined) ?? {}
  const kinds = Object.keys(schema.properties ?? {})
  const kind = kinds.find((each) => current[each] !== undefined && current[each] !== null)
  const inner = kind === undefined ? undefined : resolveSchema(schema.properties![kind]!, context.document)
  return (
    <Group title={labelOf(name)} hint={schema.description} error={groupErrorOf(context, path, schema)}>
      <Field label="Kind" required>
        {(control) => (
          <select
            {...control}
            value={kind ?? ''}
            onChange={(event) =>
              onValue(event.target.value === '' ? undefined : { [event.target.value]: {} })
            }
          >
            <option value="">Choose…</option>
            {kinds.map((each) => (
              <option key={each} value={each}>
                {labelOf(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {kind !== undefined && inner && (
        <SchemaFields
          schema={inner}
          path={`${path}.${kind}`}
          values={current[kind] as Values}
          onValues={(values) => onValue({ [kind]: values })}
          context={context}
        />
      )}
    </Group>
  )
}

function ObjectsField({ name, path, schema, value, onValue, context }: FieldProps) {
  const items = resolveSchema(schema.items!, context.document)
  const rows = (value as Values[] | undefined) ?? []
  const groupError = context.error?.field === path ? context.error.message : undefined
  if (isEventSourceList(name, items)) {
    const error = belongsTo(context.error?.field, path) ? context.error?.message : undefined
    return (
      <Group title={labelOf(name)} hint={schema.description} error={error}>
        <EventSources path={path} items={items} value={rows} onValue={onValue} context={context} />
      </Group>
    )
  }
  return (
    <Group title={labelOf(name)} hint={schema.description} error={groupError}>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
        <div key={index} className="sub-form">
          <SchemaFields
            schema={items}
            path={`${path}[${index}]`}
            values={row}
            onValues={(values) => onValue(rows.map((each, position) => (position === index ? values : each)))}
            context={context}
          />
          <Button kind="quiet" onClick={() => onValue(rows.filter((_, position) => position !== index))}>
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

/** An error about the object itself, or about a field that the form does not have. */
function groupErrorOf({ error }: FormContext, path: string, schema: Schema): string | undefined {
  if (error === undefined || !belongsTo(error.field, path)) return undefined
  const fieldName = error.field!.slice(path.length + 1).split(/[.[]/)[0]!
  return Object.hasOwn(schema.properties ?? {}, fieldName) ? undefined : error.message
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

/** Policies and pages are documents of their own; keys and bodies have several lines. */
function rowsOf(name: string, { maxLength = 0 }: Schema): number {
  if (maxLength > 65_536 || name === 'html') return 16
  return /pem|key|body/.test(name) ? 6 : 3
}
