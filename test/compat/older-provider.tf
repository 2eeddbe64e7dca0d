# Every resource that versions 0.4 to 0.7 of the provider share. The sources of event subscriptions crash these versions.
terraform {
  required_providers {
    ngrok = {
      source  = "ngrok/ngrok"
      version = "0.4.0"
    }
  }
}

provider "ngrok" {}

variable "description" {
  default = "Managed by Terraform"
}

resource "ngrok_bot_user" "ci" {
  name   = replace(var.description, " ", "-")
  active = true
}

resource "ngrok_api_key" "ci" {
  description = var.description
}

resource "ngrok_credential" "agents" {
  description = var.description
  acl         = ["bind:*.team.example.com"]
  owner_id    = ngrok_bot_user.ci.id
}

resource "ngrok_credential" "own" {
  description = var.description
}

resource "ngrok_ssh_credential" "laptop" {
  description = var.description
  public_key  = trimspace(file("id.pub"))
}

resource "ngrok_ssh_certificate_authority" "users" {
  description      = var.description
  private_key_type = "ed25519"
}

resource "ngrok_ssh_host_certificate" "host" {
  description                  = var.description
  ssh_certificate_authority_id = ngrok_ssh_certificate_authority.users.id
  public_key                   = trimspace(file("id.pub"))
  principals                   = ["host.example.com"]
}

resource "ngrok_ssh_user_certificate" "user" {
  description                  = var.description
  ssh_certificate_authority_id = ngrok_ssh_certificate_authority.users.id
  public_key                   = trimspace(file("id.pub"))
  principals                   = ["root"]
}

resource "ngrok_reserved_domain" "default" {
  domain      = "default.example.com"
  description = var.description
}

resource "ngrok_reserved_domain" "app" {
  domain      = "app.example.com"
  description = var.description
  certificate_management_policy {
    authority        = "letsencrypt"
    private_key_type = "rsa"
  }
}

resource "ngrok_reserved_addr" "database" {
  description = var.description
}

resource "ngrok_agent_ingress" "agents" {
  domain      = "agents.example.net"
  description = var.description
}

resource "ngrok_tls_certificate" "app" {
  description     = var.description
  certificate_pem = file("certificate.pem")
  private_key_pem = file("key.pem")
}

resource "ngrok_certificate_authority" "clients" {
  description = var.description
  ca_pem      = file("ca.pem")
}

resource "ngrok_ip_policy" "office" {
  description = var.description
}

resource "ngrok_ip_policy_rule" "office" {
  description  = var.description
  ip_policy_id = ngrok_ip_policy.office.id
  cidr         = "203.0.113.0/24"
  action       = "allow"
}

resource "ngrok_ip_restriction" "agents" {
  description   = var.description
  type          = "agent"
  enforced      = false
  ip_policy_ids = [ngrok_ip_policy.office.id]
}

resource "ngrok_tunnel_group_backend" "web" {
  description = var.description
  labels      = { app = "web" }
}

resource "ngrok_http_response_backend" "sorry" {
  description = var.description
  body        = "Back soon"
  status_code = 503
}

resource "ngrok_failover_backend" "web" {
  description = var.description
  backends    = [ngrok_tunnel_group_backend.web.id, ngrok_http_response_backend.sorry.id]
}

resource "ngrok_event_destination" "firehose" {
  description = var.description
  format      = "json"
  target {
    firehose {
      delivery_stream_arn = "arn:aws:firehose:us-east-1:123456789012:deliverystream/events"
      auth {
        role {
          role_arn = "arn:aws:iam::123456789012:role/firehose"
        }
      }
    }
  }
}

resource "ngrok_event_subscription" "none" {
  description     = var.description
  destination_ids = [ngrok_event_destination.firehose.id]
}
