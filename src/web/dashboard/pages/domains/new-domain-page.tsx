import { useState } from 'react'
import type { ReservedDomain } from '../../../../api-client/index.ts'
import { type ApiError, api } from '../../api.ts'
import { Card, Form, Notice, notify, Page, TextField } from '../../kit/index.ts'
import { go } from '../../route.ts'
import { usePlatform } from '../platform.ts'
import './domains.css'

type NameKind = 'platform' | 'own'

/** Reserves a domain: a subdomain of the platform, or a custom domain. */
export default function NewDomainPage() {
  const platform = usePlatform()
  const [kind, setKind] = useState<NameKind>('platform')
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const parentDomain = platform?.domain ?? '…'
  const input = name.trim().toLowerCase()
  const domain = kind === 'own' || input === '' ? input : `${input.replace(/\.+$/, '')}.${parentDomain}`
  const body = { domain, ...(description !== '' && { description }) }
  const save = async () => {
    const reserved = await api.post<ReservedDomain>('/reserved_domains', body)
    notify(`Reserved ${reserved.domain}.`)
    go(`/domains/${reserved.id}`, { replace: true })
  }
  const isCustom = kind === 'own'
  return (
    <Page title="New domain" back={{ path: '/domains', title: 'Domains' }}>
      <Card>
        <Form
          save={save}
          verb="Reserve domain"
          disabled={!isCustom && platform === undefined}
          onCancel={() => go('/domains')}
          calls={[{ method: 'POST', path: '/reserved_domains', body }]}
        >
          {(error) => (
            <>
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
                error={concernsDomain(error) ? error?.message : undefined}
              />
              <TextField
                label="Description"
                hint="Shown in lists."
                value={description}
                onValue={setDescription}
                error={error?.field === 'description' ? error.message : undefined}
              />
              {error && !concernsDomain(error) && error.field !== 'description' && (
                <Notice kind="bad">{error.message}</Notice>
              )}
            </>
          )}
        </Form>
      </Card>
    </Page>
  )
}

/** A taken name is a conflict, which the API does not attribute to a field. */
const concernsDomain = (error: ApiError | undefined) => error?.field === 'domain' || error?.status === 409

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
