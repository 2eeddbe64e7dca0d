import type { ComponentType } from 'react'
import type { Section } from './pages.ts'

/** A resource as the API returns it. */
export type Item = { readonly id: string } & Readonly<Record<string, unknown>>

/** A column of a list: a field of the resource and its format, plain text by default. */
export interface FieldColumn {
  readonly title: string
  readonly field: string
  readonly format?: 'time' | 'code' | 'badge' | 'active' | 'count' | 'kind' | 'link'
}

/** The props of an extra section on a detail page. */
export interface ExtraProps {
  readonly item: Item
  readonly reload: () => void
}

/** One kind of resource with pages to list, show, create, edit and delete it. */
export interface ResourcePages {
  readonly prefix: string
  /** The path in the management API, and the key of its list. */
  readonly path: string
  readonly listKey: string
  /** The path in the dashboard. */
  readonly route: string
  readonly title: string
  readonly singular: string
  readonly section: Section
  readonly key?: string
  readonly adminOnly?: boolean
  /** One sentence on what it is, below the title of the list. */
  readonly lead: string
  /** What to do next, shown while the list is empty. */
  readonly emptyText: string
  /** The first column names the resource and links to its page. */
  readonly columns: readonly FieldColumn[]
  /** The field that is shown once, after creation, and its label. */
  readonly shownOnce?: { readonly field: string; readonly label: string }
  /** The warning in the delete dialog. */
  readonly deleteWarning: string
  readonly extras?: readonly (() => Promise<{ default: ComponentType<ExtraProps> }>)[]
  /** Fields that the extra sections show. */
  readonly extraFields?: readonly string[]
}

const createdColumn: FieldColumn = { title: 'Created', field: 'created_at', format: 'time' }
const descriptionColumn: FieldColumn = { title: 'Description', field: 'description' }

/** Every resource with generated pages. */
export const resourcePages: readonly ResourcePages[] = [
  {
    prefix: 'ra',
    path: '/reserved_addrs',
    listKey: 'reserved_addrs',
    route: '/addresses',
    title: 'Addresses',
    singular: 'reserved address',
    section: 'Traffic',
    key: 'r',
    lead: 'TCP addresses that stay yours, so that clients can always use the same port.',
    emptyText: 'Reserve one, then start a tunnel on it or put a TCP edge behind it.',
    columns: [
      { title: 'Address', field: 'addr', format: 'code' },
      descriptionColumn,
      { title: 'Region', field: 'region' },
      createdColumn,
    ],
    deleteWarning: 'Another account may reserve this address afterwards.',
  },
  {
    prefix: 'agin',
    path: '/agent_ingresses',
    listKey: 'ingresses',
    route: '/agent-ingresses',
    title: 'Agent ingresses',
    singular: 'agent ingress',
    section: 'Traffic',
    lead: 'Custom host names at which agents connect to the platform.',
    emptyText: 'Create one to let agents connect to a name of your own domain.',
    columns: [{ title: 'Domain', field: 'domain' }, descriptionColumn, createdColumn],
    deleteWarning: 'Agents that connect through this name can no longer reach the platform.',
  },
  {
    prefix: 'ak',
    path: '/api_keys',
    listKey: 'keys',
    route: '/api-keys',
    title: 'API keys',
    singular: 'API key',
    section: 'Access',
    key: 'k',
    lead: 'Keys that programs use to call the management API.',
    emptyText: 'Create one per program, so that each can be revoked separately.',
    columns: [descriptionColumn, { title: 'Owner', field: 'owner_id', format: 'link' }, createdColumn],
    shownOnce: { field: 'token', label: 'This is the new API key.' },
    deleteWarning: 'Programs that use this key lose access immediately.',
  },
  {
    prefix: 'cr',
    path: '/credentials',
    listKey: 'credentials',
    route: '/tunnel-credentials',
    title: 'Tunnel credentials',
    singular: 'tunnel credential',
    section: 'Access',
    key: 't',
    lead: 'Authtokens that agents use to start tunnels, and what each of them may bind.',
    emptyText:
      'Create one per machine, and add its token to the agent there with “adit config add-authtoken”.',
    columns: [
      descriptionColumn,
      { title: 'Rules', field: 'acl', format: 'count' },
      { title: 'Owner', field: 'owner_id', format: 'link' },
      createdColumn,
    ],
    shownOnce: { field: 'token', label: 'This is the new authtoken.' },
    deleteWarning: 'Agents that use this token are disconnected and can no longer connect.',
  },
  {
    prefix: 'sshcr',
    path: '/ssh_credentials',
    listKey: 'ssh_credentials',
    route: '/ssh-credentials',
    title: 'SSH keys',
    singular: 'SSH credential',
    section: 'Access',
    lead: 'Public keys that let an SSH client start tunnels without an agent.',
    emptyText: 'Add a public key, then run ssh -R on the machine that has the private one.',
    columns: [
      descriptionColumn,
      { title: 'Rules', field: 'acl', format: 'count' },
      { title: 'Owner', field: 'owner_id', format: 'link' },
      createdColumn,
    ],
    deleteWarning: 'SSH clients with this key are disconnected and can no longer connect.',
  },
  {
    prefix: 'ipp',
    path: '/ip_policies',
    listKey: 'ip_policies',
    route: '/ip-policies',
    title: 'IP policies',
    singular: 'IP policy',
    section: 'Access',
    key: 'i',
    lead: 'Named sets of address ranges to allow or deny, used by edges and restrictions.',
    emptyText: 'Create one, add rules to it, and use it on an edge or an IP restriction.',
    columns: [descriptionColumn, { title: 'Metadata', field: 'metadata' }, createdColumn],
    deleteWarning: 'Its rules are deleted with it.',
    extras: [() => import('./resource/ip-rules.tsx'), () => import('./pages/ip-policies/ip-tester.tsx')],
  },
  {
    prefix: 'ipx',
    path: '/ip_restrictions',
    listKey: 'ip_restrictions',
    route: '/ip-restrictions',
    title: 'IP restrictions',
    singular: 'IP restriction',
    section: 'Access',
    lead: 'The addresses from which the dashboard, the API, agents and endpoints of this account can be used.',
    emptyText: 'Create an IP policy first, then choose here what it protects.',
    columns: [
      { title: 'Protects', field: 'type' },
      descriptionColumn,
      { title: 'Status', field: 'enforced', format: 'active' },
      createdColumn,
    ],
    deleteWarning: 'What it protected can then be used from any address.',
  },
  {
    prefix: 'usr',
    path: '/users',
    listKey: 'users',
    route: '/users',
    title: 'Users',
    singular: 'user',
    section: 'Access',
    key: 'u',
    adminOnly: true,
    lead: 'People with access to this account, and their roles.',
    emptyText: 'Add a person, then generate their first password on their page.',
    columns: [
      { title: 'Email', field: 'email' },
      { title: 'Name', field: 'name' },
      { title: 'Role', field: 'role', format: 'badge' },
      { title: 'Status', field: 'active', format: 'active' },
      createdColumn,
    ],
    deleteWarning: 'The user is signed out and can no longer sign in.',
    extras: [() => import('./resource/user-password.tsx')],
  },
  {
    prefix: 'bot',
    path: '/bot_users',
    listKey: 'bot_users',
    route: '/bot-users',
    title: 'Bot users',
    singular: 'bot user',
    section: 'Access',
    adminOnly: true,
    lead: 'Users for programs: their keys and credentials do not depend on a person.',
    emptyText: 'Create one for a service, then set it as the owner of an API key.',
    columns: [
      { title: 'Name', field: 'name' },
      { title: 'Status', field: 'active', format: 'active' },
      createdColumn,
    ],
    deleteWarning: 'Delete what it owns first.',
  },
  {
    prefix: 'cert',
    path: '/tls_certificates',
    listKey: 'tls_certificates',
    route: '/tls-certificates',
    title: 'TLS certificates',
    singular: 'TLS certificate',
    section: 'Certificates',
    key: 'l',
    lead: 'Certificates you upload for your own domains. For most domains the platform obtains one automatically.',
    emptyText: 'Upload one only if a domain must not use an automatic certificate.',
    columns: [
      { title: 'Subject', field: 'subject_common_name' },
      descriptionColumn,
      { title: 'Expires', field: 'not_after', format: 'time' },
      createdColumn,
    ],
    deleteWarning: 'Assign another certificate to the domains that use it first.',
  },
  {
    prefix: 'ca',
    path: '/certificate_authorities',
    listKey: 'certificate_authorities',
    route: '/certificate-authorities',
    title: 'Certificate authorities',
    singular: 'certificate authority',
    section: 'Certificates',
    lead: 'Authorities whose client certificates edges accept (mutual TLS).',
    emptyText: 'Upload one, then choose it in the mutual TLS module of an edge.',
    columns: [
      { title: 'Subject', field: 'subject_common_name' },
      descriptionColumn,
      { title: 'Expires', field: 'not_after', format: 'time' },
      createdColumn,
    ],
    deleteWarning: 'Change the edges that use it first.',
  },
  {
    prefix: 'sshca',
    path: '/ssh_certificate_authorities',
    listKey: 'ssh_certificate_authorities',
    route: '/ssh-certificate-authorities',
    title: 'SSH authorities',
    singular: 'SSH certificate authority',
    section: 'Certificates',
    lead: 'Authorities that sign SSH certificates for people and hosts; their private keys never leave the platform.',
    emptyText: 'Create one, put its public key on your SSH servers, and sign certificates with it.',
    columns: [descriptionColumn, { title: 'Key', field: 'key_type', format: 'badge' }, createdColumn],
    deleteWarning: 'Certificates it signed stay valid where its public key is trusted.',
  },
  {
    prefix: 'sucrt',
    path: '/ssh_user_certificates',
    listKey: 'ssh_user_certificates',
    route: '/ssh-user-certificates',
    title: 'SSH user certificates',
    singular: 'SSH user certificate',
    section: 'Certificates',
    lead: 'Certificates that let people sign in to SSH servers that trust one of your authorities.',
    emptyText: 'Create an SSH authority first, then sign a user’s public key here.',
    columns: [
      descriptionColumn,
      { title: 'Authority', field: 'ssh_certificate_authority_id', format: 'link' },
      { title: 'Expires', field: 'valid_until', format: 'time' },
      createdColumn,
    ],
    deleteWarning: 'The certificate itself stays valid until it expires.',
  },
  {
    prefix: 'shcrt',
    path: '/ssh_host_certificates',
    listKey: 'ssh_host_certificates',
    route: '/ssh-host-certificates',
    title: 'SSH host certificates',
    singular: 'SSH host certificate',
    section: 'Certificates',
    lead: 'Certificates that identify SSH servers, so that users need not confirm a fingerprint.',
    emptyText: 'Create an SSH authority first, then sign the public key of a host here.',
    columns: [
      descriptionColumn,
      { title: 'Authority', field: 'ssh_certificate_authority_id', format: 'link' },
      { title: 'Expires', field: 'valid_until', format: 'time' },
      createdColumn,
    ],
    deleteWarning: 'The certificate itself stays valid until it expires.',
  },
  {
    prefix: 'ed',
    path: '/event_destinations',
    listKey: 'event_destinations',
    route: '/event-destinations',
    title: 'Event destinations',
    singular: 'event destination',
    section: 'Events',
    key: 'v',
    lead: 'Where events are sent: webhooks, queues, logs and storage.',
    emptyText: 'Create one, then subscribe it to the events it should receive.',
    columns: [descriptionColumn, { title: 'Kind', field: 'target', format: 'kind' }, createdColumn],
    deleteWarning: 'Events queued for it are lost.',
    extras: [() => import('./pages/events/delivery.tsx')],
    extraFields: ['status'],
  },
  {
    prefix: 'esb',
    path: '/event_subscriptions',
    listKey: 'event_subscriptions',
    route: '/event-subscriptions',
    title: 'Event subscriptions',
    singular: 'event subscription',
    section: 'Events',
    key: 's',
    lead: 'Which events go to which destinations.',
    emptyText: 'Create an event destination first, then choose here what it receives.',
    columns: [
      descriptionColumn,
      { title: 'Events', field: 'sources', format: 'count' },
      { title: 'Destinations', field: 'destinations', format: 'count' },
      createdColumn,
    ],
    deleteWarning: 'Its destinations no longer receive these events.',
  },
]
