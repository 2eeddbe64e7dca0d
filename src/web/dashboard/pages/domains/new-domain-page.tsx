import { type FormEvent, useState } from 'react'
import { ApiError, api, errorMessage } from '../../api.ts'
import { Button, Card, Equivalent, Notice, notify, Page, TextField } from '../../kit/index.ts'
import { go } from '../../route.ts'
import { usePlatform } from '../platform.ts'
import type { Domain } from '../resources.ts'
import './domains.css'

type NameKind = 'platform' | 'own'

/** Reserves a domain: a subdomain of the platform, or a custom domain. */
export default function NewDomainPage() {
  const platform = usePlatform()
  const [kind, setKind] = useState<NameKind>('platform')
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const parentDomain = platform?.domain ?? '…'
  const input = name.trim().toLowerCase()
  const domain = kind === 'own' || input === '' ? input : `${input.replace(/\.+$/, '')}.${parentDomain}`
  const body = { domain, ...(description !== '' && { description }) }
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const reserved = await api.post<Domain>('/reserved_domains', body)
      notify(`Reserved ${reserved.domain}.`)
      go(`/domains/${reserved.id}`, { replace: true })
    } catch (caught) {
      setError(caught instanceof ApiError ? caught : new ApiError(0, '', errorMessage(caught)))
      setBusy(false)
    }
  }
  const isCustom = kind === 'own'
  // A taken name is a conflict, which the API does not attribute to a field.
  const domainInvalid = error?.field === 'domain' || error?.status === 409
  return (
    <Page title="New domain" back={{ path: '/domains', title: 'Domains' }}>
      <Card>
        <form className="form" noValidate onSubmit={(event) => void send(event)}>
          <fieldset className="choices">
            <legend>Kind of domain</legend>
            <NameKindOption
              label={`Subdomain of ${parentDomain}`}
              hint="Works immediately, with a certificate of the platform."
              checked={!isCustom}
              onPick={() => setKind('platform')}
            />
            <NameKindOption
              label="Custom domain"
              hint="You create a DNS record; the certificate is then obtained automatically."
              checked={isCustom}
              onPick={() => setKind('own')}
            />
          </fieldset>
          <TextField
            label={isCustom ? 'Domain' : 'Name'}
            required
            autoFocus
            placeholder={isCustom ? 'shop.example.com' : 'shop'}
            hint={
              isCustom ? (
                'A wildcard such as *.apps.example.com covers all subdomains.'
              ) : (
                <>
                  Visitors will open <b>{domain || `shop.${parentDomain}`}</b>
                </>
              )
            }
            value={name}
            onValue={setName}
            error={domainInvalid ? error?.message : undefined}
          />
          <TextField
            label="Description"
            hint="Shown in lists."
            value={description}
            onValue={setDescription}
            error={error?.field === 'description' ? error.message : undefined}
          />
          {error && !domainInvalid && error.field !== 'description' && (
            <Notice kind="bad">{error.message}</Notice>
          )}
          <div className="form-actions">
            <Button kind="main" type="submit" busy={busy} disabled={!isCustom && platform === undefined}>
              Reserve domain
            </Button>
            <Button kind="quiet" onClick={() => go('/domains')}>
              Cancel
            </Button>
          </div>
          <Equivalent method="POST" path="/reserved_domains" body={body} />
        </form>
      </Card>
    </Page>
  )
}

function NameKindOption({
  label,
  hint,
  checked,
  onPick,
}: {
  label: string
  hint: string
  checked: boolean
  onPick: () => void
}) {
  return (
    <label className="choice">
      <input type="radio" name="whose" checked={checked} onChange={onPick} />
      <span>
        <b>{label}</b>
        <small>{hint}</small>
      </span>
    </label>
  )
}
