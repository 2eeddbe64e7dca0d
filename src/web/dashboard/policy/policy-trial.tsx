import { useState } from 'react'
import type { PolicyAttachment, PolicyTrialRequest, PolicyTrialResult } from '../../../dashboard/page-data.ts'
import { ApiError, api, errorMessage } from '../api.ts'
import { Badge, Button, Field, TextField } from '../kit/index.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

interface TypedRequest {
  readonly method: string
  readonly url?: string
  readonly headers: string
  readonly body: string
  readonly client_ip: string
  readonly signed_in_as: string
}

/** Runs a request through the policy on the server and shows what each rule does. */
export function PolicyTrial({
  policy,
  attachment,
  initialUrl,
}: {
  policy: string
  attachment: PolicyAttachment
  initialUrl: string
}) {
  // Without a URL, the request follows that of the endpoint.
  const [typed, setTyped] = useState<TypedRequest>({
    method: 'GET',
    headers: '',
    body: '',
    client_ip: '203.0.113.1',
    signed_in_as: '',
  })
  const request = { url: initialUrl, ...typed }
  const [result, setResult] = useState<PolicyTrialResult>()
  const [error, setError] = useState<{ field: string | undefined; message: string }>()
  const [busy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    const headers = request.headers.split('\n').filter((line) => line.trim() !== '')
    const body: PolicyTrialRequest = { ...request, headers, policy, attachment }
    try {
      setResult(await api.post<PolicyTrialResult>('/dashboard/api/policy_trial', body))
      setError(undefined)
    } catch (caught) {
      setResult(undefined)
      setError({
        field: caught instanceof ApiError ? caught.field : undefined,
        message: errorMessage(caught),
      })
    }
    setBusy(false)
  }
  const text = (field: 'url' | 'client_ip' | 'signed_in_as', label: string, hint?: string) => (
    <TextField
      label={label}
      hint={hint}
      error={error?.field === field ? error.message : undefined}
      value={request[field]}
      onValue={(value) => setTyped({ ...typed, [field]: value })}
    />
  )
  const lines = (field: 'headers' | 'body', label: string, hint?: string) => (
    <Field label={label} hint={hint} error={error?.field === field ? error.message : undefined}>
      {(control) => (
        <textarea
          {...control}
          className="code"
          rows={2}
          value={request[field]}
          onChange={({ target }) => setTyped({ ...typed, [field]: target.value })}
        />
      )}
    </Field>
  )
  const isShown = ['url', 'client_ip', 'signed_in_as', 'headers', 'body'].includes(error?.field ?? '')
  return (
    <details className="more policy-trial">
      <summary>Try a request</summary>
      <p className="quiet">
        No calls are made and nothing is counted: actions that would call other servers are only described,
        and secrets are not read.
      </p>
      <Field label="Method">
        {(control) => (
          <select
            {...control}
            value={request.method}
            onChange={({ target }) => setTyped({ ...typed, method: target.value })}
          >
            {METHODS.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </select>
        )}
      </Field>
      {text('url', 'URL of the request')}
      {lines('headers', 'Request headers', 'One per line, such as accept: text/html.')}
      {lines('body', 'Request body')}
      {text('client_ip', 'Address of the visitor')}
      {text('signed_in_as', 'Signed in as', 'The email address of a signed-in visitor.')}
      <div className="form-actions">
        <Button busy={busy} onClick={() => void send()}>
          Try request
        </Button>
      </div>
      <div role="status">
        {error && !isShown && <p className="field-error">{error.message}</p>}
        {result && <TrialResult result={result} />}
      </div>
    </details>
  )
}

function TrialResult({ result: { rules, forwarded, answer } }: { result: PolicyTrialResult }) {
  return (
    <>
      <ol className="trial-rules">
        {rules.map(({ phase, rule, name, outcome, expressions, actions }) => (
          <li key={`${phase} ${rule}`}>
            <Badge tone={outcome === 'matched' ? 'good' : 'info'}>{outcome}</Badge>{' '}
            <b>{name || `Rule ${rule}`}</b> <small>{phase}</small>
            {outcome !== 'not reached' && (
              <ul>
                {expressions.map(({ expression, value, error }) => (
                  <li key={expression}>
                    <code>{expression}</code>:{' '}
                    {error ?? (value === undefined ? 'not evaluated' : JSON.stringify(value))}
                  </li>
                ))}
                {outcome === 'matched' &&
                  actions.map(({ type, outcome, effect }, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: an action is its position.
                    <li key={index}>
                      {type}: {outcome === 'ran' ? effect : outcome === 'would' ? `would ${effect}` : outcome}
                    </li>
                  ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      {forwarded && (
        <p>
          The upstream would get{' '}
          <code>
            {forwarded.method} {forwarded.target}
          </code>{' '}
          for {forwarded.host}.
        </p>
      )}
      <p>
        {answer === null
          ? 'The connection is closed without a response.'
          : `The visitor gets ${answer.status}${forwarded ? ', if the upstream responds with 200' : ''}.`}
      </p>
      {answer?.body && <pre>{answer.body}</pre>}
    </>
  )
}
