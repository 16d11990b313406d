//! Arrow tables whose columns are listed once.

/// A row and the columns of a table, from one list: name, type in a row, builder, how it appends.
///
/// `finish` gives the columns by name, in the order of the list, and empties them.
#[macro_export]
macro_rules! columns {
    (
        $visible:vis struct $columns:ident of $row:ident $(<$life:lifetime>)? {
            $($name:ident: $value:ty => $builder:ty, $append:ident;)+
        }
    ) => {
        #[derive(Clone, Debug, Default)]
        $visible struct $row $(<$life>)? {
            $($visible $name: $value,)+
        }

        #[derive(Default)]
        $visible struct $columns {
            $($name: $builder,)+
        }

        impl $columns {
            $visible fn push $(<$life>)? (&mut self, row: $row $(<$life>)?) {
                $(self.$name.$append(row.$name);)+
            }

            $visible fn finish(&mut self) -> Vec<(&'static str, ::arrow_array::ArrayRef)> {
                vec![$((stringify!($name), ::std::sync::Arc::new(self.$name.finish())),)+]
            }
        }
    };
}
