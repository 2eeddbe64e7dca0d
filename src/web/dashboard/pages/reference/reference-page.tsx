import './reference.css'
import { useState } from 'react'
import { Button, EmptyState, LoadError, Loading, Page, Search, Switch } from '../../kit/index.ts'
import { includesRole, type OpenApi, useOpenApi } from '../../openapi.ts'
import { hrefTo } from '../../route.ts'
import { useSession } from '../../session.ts'
import { groupsOf, operationPath, type ReferenceEntry, type ReferenceGroup } from './operations.ts'
import { RoleBadge } from './role-badge.tsx'

/** Every operation of the management API, by kind of object. */
export default function ReferencePage() {
  const { document, error } = useOpenApi()
  return (
    <Page
      title="API reference"
      lead={
        <>
          The management API can do everything the dashboard does. Each operation has a console that sends
          requests with your permissions. Programs read <a href="/openapi.json">openapi.json</a>.
        </>
      }
    >
      {error && <LoadError error={error} />}
      {document ? <OperationList document={document} /> : !error && <Loading />}
    </Page>
  )
}

function OperationList({ document }: { document: OpenApi }) {
  const { role } = useSession().session
  const [search, setSearch] = useState('')
  const [onlyAllowed, setOnlyAllowed] = useState(false)
  const isListed = ({ operation }: ReferenceEntry) =>
    !onlyAllowed || includesRole(role, operation['x-required-role'] ?? 'developer')
  const isSearching = search.trim() !== ''
  const groups = groupsOf(document, search.trim())
    .map((group) => ({ ...group, entries: group.entries.filter(isListed) }))
    .filter(({ entries }) => entries.length > 0)
  return (
    <>
      <div className="tools">
        <Search label="Search operations" value={search} onValue={setSearch} />
        {role !== 'admin' && (
          <Switch
            label="Only operations that your role allows"
            checked={onlyAllowed}
            onChecked={setOnlyAllowed}
          />
        )}
      </div>
      <div>
        {groups.map((group) => (
          // Matches are visible at once; without a search, a group opens on demand.
          <OperationGroup key={`${group.tag} ${isSearching}`} {...group} open={isSearching} />
        ))}
      </div>
      {groups.length === 0 && (
        <EmptyState title="No matches" action={<Button onClick={() => setSearch('')}>Clear search</Button>}>
          No operation contains “{search.trim()}”.
        </EmptyState>
      )}
    </>
  )
}

function OperationGroup({ title, description, entries, open }: ReferenceGroup & { open: boolean }) {
  return (
    <details className="operation-group" open={open}>
      <summary>
        <strong>{title}</strong> <span className="quiet">{description}</span>
      </summary>
      <ul className="operations">
        {entries.map((entry) => (
          <OperationLink key={entry.operation.operationId} {...entry} />
        ))}
      </ul>
    </details>
  )
}

function OperationLink({ method, path, operation }: ReferenceEntry) {
  return (
    <li>
      <a href={hrefTo(operationPath(operation))}>{operation.summary}</a>
      <RoleBadge operation={operation} />
      <span className="operation-path">
        <MethodLabel method={method} /> <code>{path}</code>
      </span>
    </li>
  )
}

/** An HTTP method in its colour. */
export function MethodLabel({ method }: { method: string }) {
  return <span className={`method ${method.toLowerCase()}`}>{method}</span>
}
