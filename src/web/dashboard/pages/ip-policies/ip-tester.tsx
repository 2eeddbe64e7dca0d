import { type FormEvent, useState } from 'react'
import type { AddressCheck } from '../../../../dashboard/page-data.ts'
import { ApiError, api, errorMessage } from '../../api.ts'
import { Badge, Button, Card, TextField } from '../../kit/index.ts'
import type { ExtraProps } from '../../page-contracts.ts'
import './ip-tester.css'

/** Checks whether this policy allows an address, and what the account's IP restrictions mean for it. */
export default function IpTester({ item }: ExtraProps) {
  const [address, setAddress] = useState('')
  const [result, setResult] = useState<AddressCheck>()
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const check = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setErrorText(undefined)
    try {
      const query = new URLSearchParams({ policies: item.id, address: address.trim() })
      setResult(await api.get<AddressCheck>(`/dashboard/api/ip_policies/check?${query}`))
    } catch (error) {
      setResult(undefined)
      setErrorText(error instanceof ApiError ? error.message.replace(/^address: /, '') : errorMessage(error))
    }
    setBusy(false)
  }
  return (
    <Card title="Test an address">
      <form className="ip-tester" noValidate onSubmit={(event) => void check(event)}>
        <TextField
          label="IP address"
          required
          placeholder="203.0.113.7"
          value={address}
          onValue={setAddress}
          error={errorText}
        />
        <Button type="submit" busy={busy}>
          Test
        </Button>
      </form>
      <div role="status" className="ip-verdict">
        {result && (
          <>
            <p>
              <Badge tone={result.allowed ? 'good' : 'bad'}>{result.allowed ? 'allowed' : 'denied'}</Badge>{' '}
              <code>{result.address}</code>
            </p>
            <p>{result.because}</p>
            {result.restrictions.length > 0 && <Restrictions restrictions={result.restrictions} />}
          </>
        )}
      </div>
    </Card>
  )
}

const RESTRICTED_ACTIONS: Readonly<Record<string, string>> = {
  dashboard: 'sign in to the dashboard',
  api: 'call the API',
  agent: 'connect an agent',
  endpoints: 'visit any endpoint or edge',
}

function Restrictions({ restrictions }: { restrictions: AddressCheck['restrictions'] }) {
  return (
    <>
      <h3>Account-wide restrictions</h3>
      <ul>
        {restrictions.map(({ id, type, enforced, allowed, because }) => (
          <li key={id}>
            {allowed || enforced ? 'It' : 'Once this restriction is enforced, it'}{' '}
            {allowed ? 'can' : 'cannot'} {RESTRICTED_ACTIONS[type] ?? type}. {because}
          </li>
        ))}
      </ul>
    </>
  )
}
