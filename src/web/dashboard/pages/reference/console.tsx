import { type FormEvent, useState } from 'react'
import { composeExample } from '../../../../base/values/schema-fields.ts'
import { ScrollRegion } from '../../../shared/scroll-region.tsx'
import { errorMessage, type RawResponse, sendRaw } from '../../api.ts'
import type { ApiCall } from '../../equivalent.ts'
import { choiceLabel } from '../../form/labels.ts'
import {
  Badge,
  Button,
  Card,
  Confirm,
  CopyButton,
  Equivalent,
  Field,
  Notice,
  TextField,
} from '../../kit/index.ts'
import type { OpenApi } from '../../openapi.ts'
import { useSession } from '../../session.ts'
import type { ReferenceEntry } from './operations.ts'
import { useMayCall } from './role-badge.tsx'

type Texts = Readonly<Record<string, string>>

/** Sends real requests to the API with the session of the user, and shows the same as shell commands. */
export function Console({ document, entry }: { document: OpenApi; entry: ReferenceEntry }) {
  const { method, operation } = entry
  const mayCall = useMayCall(operation)
  const bodySchema = operation.requestBody?.content['application/json'].schema
  const [parameters, setParameters] = useState<Texts>({})
  const [bodyText, setBodyText] = useState(() =>
    bodySchema ? JSON.stringify(composeExample(bodySchema, document.components.schemas), null, 2) : '',
  )
  const [errors, setErrors] = useState<Texts>({})
  const [response, setResponse] = useState<RawResponse>()
  const [failure, setFailure] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [confirming, setConfirming] = useState(false)
  const path = requestPath(entry, parameters)
  const body = bodySchema && parseBody(bodyText)
  const call: ApiCall = { method, path, ...(body && 'value' in body && { body: body.value }) }

  const send = async () => {
    setConfirming(false)
    setBusy(true)
    setFailure(undefined)
    setResponse(undefined)
    try {
      setResponse(await sendRaw(method, path, bodySchema && bodyText))
    } catch (error) {
      setFailure(errorMessage(error))
    }
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found: Record<string, string> = {}
    for (const { name, required } of operation.parameters)
      if (required && (parameters[name] ?? '').trim() === '') found[name] = 'This parameter is required.'
    if (body && 'error' in body) found.body = body.error
    setErrors(found)
    if (Object.keys(found).length > 0) return
    if (method === 'GET') void send()
    else setConfirming(true)
  }

  return (
    <Card title="Console">
      <PermissionNote entry={entry} />
      <form className="form console" noValidate onSubmit={submit}>
        <ParameterFields
          parameters={operation.parameters}
          values={parameters}
          errors={errors}
          onValues={setParameters}
        />
        {bodySchema && (
          <Field label="Body (JSON)" error={errors.body}>
            {(control) => (
              <textarea
                {...control}
                className="code"
                spellCheck={false}
                rows={Math.min(16, bodyText.split('\n').length + 1)}
                value={bodyText}
                onChange={(event) => setBodyText(event.target.value)}
              />
            )}
          </Field>
        )}
        <div className="form-actions">
          <Button
            kind={method === 'DELETE' ? 'danger' : 'main'}
            type="submit"
            busy={busy}
            disabled={!mayCall}
          >
            Send request
          </Button>
        </div>
        <Equivalent {...call} />
      </form>
      {failure && <Notice kind="bad">{failure}</Notice>}
      {response && <ResponseView response={response} />}
      {confirming && (
        <Confirm
          title="Send this request?"
          verb="Send request"
          onClose={() => setConfirming(false)}
          onConfirm={send}
        >
          <p>
            <code>
              {method} {path}
            </code>{' '}
            changes your account.
          </p>
        </Confirm>
      )}
    </Card>
  )
}

/** Whose permissions requests are sent with, or that they do not suffice. */
function PermissionNote({ entry: { method, operation } }: { entry: ReferenceEntry }) {
  const { role } = useSession().session
  if (!useMayCall(operation))
    return (
      <Notice kind="warn">
        Your role is {choiceLabel(role).toLowerCase()}. This operation requires{' '}
        {choiceLabel(operation['x-required-role']).toLowerCase()}.
      </Notice>
    )
  return (
    <p className="quiet">
      Requests are sent to this server with your permissions.
      {method !== 'GET' && ' This operation changes your account.'}
    </p>
  )
}

function ParameterFields({
  parameters,
  values,
  errors,
  onValues,
}: {
  parameters: ReferenceEntry['operation']['parameters']
  values: Texts
  errors: Texts
  onValues: (values: Texts) => void
}) {
  return parameters.map(({ name, description, required = false, schema }) => (
    <TextField
      key={name}
      label={<code>{name}</code>}
      hint={description}
      required={required}
      error={errors[name]}
      className="code"
      spellCheck={false}
      placeholder={schema.default === undefined ? '' : String(schema.default)}
      value={values[name] ?? ''}
      onValue={(value) => onValues({ ...values, [name]: value })}
    />
  ))
}

/** The path with its parameters; a missing one is shown in capitals. */
function requestPath({ path, operation }: ReferenceEntry, parameters: Texts): string {
  const text = (name: string) => (parameters[name] ?? '').trim()
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(text(name) || name.toUpperCase()),
  )
  const query = new URLSearchParams(
    operation.parameters
      .filter((parameter) => parameter.in === 'query' && text(parameter.name) !== '')
      .map(({ name }) => [name, text(name)]),
  )
  return query.size === 0 ? filled : `${filled}?${query}`
}

function parseBody(text: string): { value: Record<string, unknown> } | { error: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as Record<string, unknown> }
    return { error: 'The body must be a JSON object, such as {"description": "test"}.' }
  } catch (error) {
    return { error: `The body is not valid JSON: ${errorMessage(error)}` }
  }
}

function ResponseView({ response: { status, statusText, text } }: { response: RawResponse }) {
  const formatted = formatJson(text)
  return (
    <section className="console-response" aria-label="Response" aria-live="polite">
      <header>
        <h3>Response</h3>
        <Badge tone={status < 400 ? 'good' : 'bad'}>
          {status} {statusText}
        </Badge>
        {formatted !== '' && <CopyButton text={formatted} />}
      </header>
      {formatted === '' ? (
        <p className="quiet">No body.</p>
      ) : (
        <ScrollRegion label="Response body">
          <pre className="json">{formatted}</pre>
        </ScrollRegion>
      )}
    </section>
  )
}

function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
