//! An extension module is linked without the interpreter that loads it; macOS needs a linker flag for that.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
