# A make-believe cluster: everything a real deployment has (a module, a template, steps that take a while, outputs), made of
# nothing but terraform's built-in provider. So it needs no account anywhere and downloads no provider.

terraform {
  required_version = ">= 1.4.0"
}

variable "cluster_name" {
  type        = string
  description = "Name of the cluster; the addresses below are made from it."
  default     = "hello"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,30}$", var.cluster_name))
    error_message = "A cluster name has up to 31 lower-case letters, digits and dashes, and begins with a letter."
  }
}

variable "nodes" {
  type        = number
  description = "How many worker nodes to pretend."
  default     = 2
}

module "network" {
  source = "./modules/network"
  name   = var.cluster_name
}

resource "terraform_data" "control_plane" {
  input = {
    name     = var.cluster_name
    endpoint = "https://${var.cluster_name}.clusters.example.test:6443"
    subnets  = module.network.subnets
  }

  provisioner "local-exec" {
    command = "echo 'starting the API server'; sleep 1; echo 'API server answers'"
  }
}

resource "terraform_data" "node" {
  count = var.nodes
  input = "${terraform_data.control_plane.output.name}-node-${count.index + 1}"

  provisioner "local-exec" {
    command = "sleep ${count.index}; echo '${self.input} is booting'; sleep 1; echo '${self.input} is ready'"
  }
}

resource "terraform_data" "gitops" {
  input = templatefile("${path.module}/templates/gitops.yaml.tftpl", {
    cluster = terraform_data.control_plane.output.name
    nodes   = terraform_data.node[*].output
  })

  provisioner "local-exec" {
    command = "echo 'handing the cluster over to GitOps:'; echo \"$MANIFEST\"; sleep 1; echo 'in sync'"
    environment = {
      MANIFEST = self.input
    }
  }
}

output "cluster_name" {
  value = terraform_data.control_plane.output.name
}

output "cluster_endpoint" {
  value = terraform_data.control_plane.output.endpoint
}

output "gitops_url" {
  value      = "https://git.example.test/platform/${var.cluster_name}"
  depends_on = [terraform_data.gitops]
}
