import { useState } from 'react'
import type { ReservedDomain } from '../../../../api-client/index.ts'
import { api } from '../../api.ts'
import { choiceLabel } from '../../form/labels.ts'
import { ResourceForm } from '../../form/resource-form.tsx'
import {
  Badge,
  BreakableText,
  Button,
  ButtonLink,
  Card,
  Confirm,
  CopyButton,
  DeleteItem,
  Dialog,
  Equivalent,
  Facts,
  ItemActions,
  LoadStatus,
  Notice,
  notify,
  Page,
  Table,
  Time,
  useApi,
} from '../../kit/index.ts'
import { filtered, listAll } from '../../lists.ts'
import type { PageProps } from '../../page-contracts.ts'
import { ConfigurationView, IdLink, ValueView } from '../../resource/value-view.tsx'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { listEdgesOf } from '../edges/edges.ts'
import { EndpointServer } from '../endpoints/endpoint-server.tsx'
import { useLive, versionOf } from '../live.ts'
import { httpsUrlOf, usePlatform } from '../platform.ts'
import { useLoad } from '../use-load.ts'
import { describeCertificate } from './certificate-labels.ts'
import { dnsRecords, isApexDomain } from './dns-records.ts'
import './domains.css'
import '../pages.css'

const BACK = { path: '/domains', title: 'Domains' }

/** One domain: its DNS records, its certificate, and what serves it. */
export default function DomainPage({ params: { id = '' } }: PageProps) {
  const path = `/reserved_domains/${encodeURIComponent(id)}`
  const load = useApi<ReservedDomain>(path, { everyMs: 3000 })
  const { value, reload } = load
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const mayChange = useCanChange()
  if (value === undefined)
    return (
      <Page title="Domain" back={BACK}>
        <LoadStatus load={load} />
      </Page>
    )
  const close = () => setOpen(undefined)
  return (
    <Page
      title={value.domain}
      lead={value.description || undefined}
      back={BACK}
      actions={mayChange && <ItemActions onEdit={() => setOpen('edit')} onDelete={() => setOpen('delete')} />}
    >
      <DnsRecordsCard domain={value} />
      <CertificateCard domain={value} reload={reload} />
      <ServedByCard domain={value} />
      <Card title="Details">
        <Facts
          entries={[
            [
              'Endpoint configuration for HTTP',
              value.http_endpoint_configuration && (
                <ConfigurationView key="h" id={value.http_endpoint_configuration.id} />
              ),
            ],
            [
              'Endpoint configuration for HTTPS',
              value.https_endpoint_configuration && (
                <ConfigurationView key="s" id={value.https_endpoint_configuration.id} />
              ),
            ],
            ['Region', value.region],
            [
              'Metadata',
              value.metadata && <ValueView key="metadata" name="metadata" value={value.metadata} />,
            ],
            ['Created', <Time key="at" value={value.created_at} exact />],
            ['ID', <code key="id">{value.id}</code>],
          ]}
        />
      </Card>
      {open === 'edit' && (
        <Dialog title={`Edit ${value.domain}`} onClose={close}>
          <ResourceForm
            method="PATCH"
            path={path}
            item={{ ...value }}
            verb="Save"
            onCancel={close}
            onDone={() => {
              close()
              notify('Saved.')
              reload()
            }}
          />
        </Dialog>
      )}
      {open === 'delete' && (
        <DeleteItem name={value.domain} path={path} back={BACK.path} onClose={close}>
          Another account may reserve this name afterwards. Its automatic certificate is deleted too.
        </DeleteItem>
      )}
    </Page>
  )
}

function DnsRecordsCard({ domain }: { domain: ReservedDomain }) {
  const records = dnsRecords(domain)
  if (records.length === 0) return null
  return (
    <Card title="DNS records to create">
      <p>
        Create {records.length === 1 ? 'this record' : 'these records'} where{' '}
        {domain.domain.replace(/^\*\./, '')} is managed. A change can take a few minutes to propagate.
      </p>
      <Table
        label="DNS records to create"
        rows={records}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Name', kind: 'mono', render: ({ name }) => <CopyableCode text={name} /> },
          { title: 'Type', kind: 'fit', render: ({ type }) => type },
          { title: 'Value', kind: 'mono', render: ({ value }) => <CopyableCode text={value} /> },
          { title: 'Purpose', render: ({ purpose }) => purpose },
        ]}
      />
      {isApexDomain(domain.domain) && (
        <Notice kind="warn">
          {domain.domain} is an apex domain and usually cannot have a CNAME record. Use an ALIAS record if
          your DNS provider supports it, or A and AAAA records with the addresses that {domain.cname_target}{' '}
          resolves to.
        </Notice>
      )}
    </Card>
  )
}

function CopyableCode({ text }: { text: string }) {
  return (
    <span className="copyable">
      <code>
        <BreakableText text={text} />
      </code>
      <CopyButton text={text} />
    </span>
  )
}

function CertificateCard({ domain, reload }: { domain: ReservedDomain; reload: () => void }) {
  const platform = usePlatform()
  const text = describeCertificate(domain, platform)
  const mayChange = useCanChange()
  const [confirming, setConfirming] = useState<'on' | 'off'>()
  const path = `/reserved_domains/${domain.id}`
  const { certificate_management_policy: policy, certificate_management_status: status } = domain
  const job = status?.provisioning_job
  const body = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } }
  const policyPath = `${path}/certificate_management_policy`
  const done = (text: string) => {
    setConfirming(undefined)
    notify(text)
    reload()
  }
  return (
    <Card
      title="Certificate"
      actions={
        mayChange &&
        domain.cname_target !== null && (
          <Button onClick={() => setConfirming(policy === null ? 'on' : 'off')}>
            {policy === null ? 'Obtain automatically' : 'Stop automatic renewal'}
          </Button>
        )
      }
    >
      <p>
        <Badge tone={text.tone}>{text.short}</Badge> {text.text}
      </p>
      <Facts
        entries={[
          ['Attached', domain.certificate && <IdLink key="c" id={domain.certificate.id} />],
          [
            'Obtained from',
            policy && `${choiceLabel(policy.authority)} (${choiceLabel(policy.private_key_type)})`,
          ],
          ['Job started', job && <Time key="j" value={job.started_at} exact />],
          ['Next retry', job?.retries_at && <Time key="r" value={job.retries_at} exact />],
        ]}
      />
      {confirming === 'on' && (
        <Confirm
          title="Obtain a certificate automatically?"
          verb="Obtain"
          onClose={() => setConfirming(undefined)}
          onConfirm={async () => {
            await api.patch(path, body)
            done('A certificate is being ordered.')
          }}
        >
          <p>
            The platform proves to the certificate authority that the name points here, and renews the
            certificate automatically. A certificate you attached is detached.
          </p>
          <Equivalent method="PATCH" path={path} body={body} />
        </Confirm>
      )}
      {confirming === 'off' && (
        <Confirm
          title="Stop automatic renewal?"
          verb="Stop"
          onClose={() => setConfirming(undefined)}
          onConfirm={async () => {
            await api.delete(policyPath)
            done('Automatic renewal stopped.')
          }}
        >
          <p>The last certificate stays attached, but is no longer renewed.</p>
          <Equivalent method="DELETE" path={policyPath} />
        </Confirm>
      )}
    </Card>
  )
}

/** The endpoints of agents and the cloud endpoints at a domain. */
const atDomain = (id: string) =>
  filtered('/endpoints', `obj.domain != null && obj.domain.id == "${id}" && obj.edge == null`)

/** What serves the domain, or how to serve it. */
function ServedByCard({ domain }: { domain: ReservedDomain }) {
  const platform = usePlatform()
  const mayChange = useCanChange()
  const key = versionOf(useLive().samples.at(-1))
  const edges = useLoad((signal) => listEdgesOf([domain.domain], signal), { key })
  const endpoints = useLoad((signal) => listAll(atDomain(domain.id), 'endpoints', signal), { key })
  const servingEdges = edges.value ?? []
  const url = httpsUrlOf(domain.domain, platform)
  return (
    <Card title="Served by">
      {!domain.domain.startsWith('*.') && (
        <p>
          Visitors open{' '}
          <a href={url} target="_blank" rel="noreferrer">
            {url}
          </a>
        </p>
      )}
      {servingEdges.map(({ id, description }) => (
        <p key={id}>
          Edge <a href={hrefTo(`/edges/${id}`)}>{description || id}</a>
        </p>
      ))}
      {endpoints.value?.map((endpoint) => (
        <p key={endpoint.id}>
          <EndpointServer endpoint={endpoint} />
        </p>
      ))}
      {edges.value && endpoints.value && servingEdges.length + endpoints.value.length === 0 && (
        <>
          <p>Serve this domain from an agent:</p>
          <CommandLine text={`adit http 3000 --url https://${domain.domain.replace('*.', 'NAME.')}`} />
          {mayChange && (
            <>
              <p>Or create an edge, with sign-in, IP policies and several backends:</p>
              <div className="form-actions">
                <ButtonLink to={`/edges/new?host=${encodeURIComponent(domain.domain)}`}>
                  Create edge
                </ButtonLink>
              </div>
            </>
          )}
        </>
      )}
    </Card>
  )
}
